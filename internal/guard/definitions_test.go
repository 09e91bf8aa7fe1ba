package guard_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
)

// defined are definitions that a test changes.
type defined struct {
	*guard.Definitions
	now    atomic.Pointer[guard.Conversions] // nil: they cannot be read
	failed chan string
}

func define(t *testing.T) *defined {
	t.Helper()
	d := &defined{failed: make(chan string, 10)}
	d.Definitions = &guard.Definitions{
		Read: func(context.Context) (guard.Conversions, error) {
			if c := d.now.Load(); c != nil {
				return *c, nil
			}
			return nil, errors.New("forbidden")
		},
		Failed: func(err error) { d.failed <- err.Error() },
	}
	return d
}

// becomes changes the definitions and reads them.
func (d *defined) becomes(t *testing.T, c *guard.Conversions) {
	t.Helper()
	d.now.Store(c)
	d.Once(t.Context())
}

var (
	legacyKind = exception.GroupKind{Group: exception.KyvernoGroup, Kind: exception.Kind}
	none       = &guard.Conversions{legacyKind: {}}
	byWebhook  = &guard.Conversions{legacyKind: {Conversion: "a webhook"}}
)

// TestConverted: while a webhook converts exceptions, none of them is verified, because Kyverno may
// see another exception. They are not deleted for this reason, but each is deleted when it expires.
func TestConverted(t *testing.T) {
	w := inWorld(t)
	d := define(t)
	d.becomes(t, none)
	k := keep(t, func(k *guard.Controller) { k.Definitions, k.Enforce, k.Every = d.Definitions, true, 8*time.Minute }, w.rules(t, guard.Settings{}, nil),
		w.sealed(t, draft("a", "x", 10*time.Minute, ""), now.Add(-10*time.Minute)))
	k.says(t, "found a verified", "report [a verified]")
	k.idle(t)
	d.becomes(t, byWebhook)
	k.Touch(exception.Identity{Name: "nothing"})
	k.clock.Step(2 * time.Second)
	k.says(t, "found a conversion-webhook", "report [a conversion-webhook]")
	k.idle(t)
	k.clock.Step(9 * time.Minute) // with Enforce, other exceptions would be deleted
	k.idle(t)
	if k.store.count() != 1 {
		t.Fatal("it is gone before its end")
	}
	k.clock.Step(time.Minute) // its expiry, long before the next check of all objects
	k.says(t, "removed a expired", "report []")
}

// TestDefinitionsUnread: nothing is verified until the definitions have been read. A successful
// read stays valid until the next one.
func TestDefinitionsUnread(t *testing.T) {
	w := inWorld(t)
	d := define(t)
	d.becomes(t, nil)
	k := keep(t, func(k *guard.Controller) { k.Definitions = d.Definitions }, w.rules(t, guard.Settings{}, nil), w.sealed(t, draft("a", "x", hour, ""), now.Add(-10*time.Minute)))
	k.says(t, "found a conversion-webhook", "report [a conversion-webhook]")
	k.idle(t)
	d.becomes(t, none)
	k.clock.Step(2 * time.Second)
	k.says(t, "found a verified", "report [a verified]")
	k.idle(t)
	d.becomes(t, nil)
	d.becomes(t, nil)
	k.clock.Step(2 * time.Second)
	k.idle(t)
	if got := <-d.failed; !strings.Contains(got, "forbidden") {
		t.Error(got)
	}
	<-d.failed // a second report, because a read succeeded between the failures
	select {
	case got := <-d.failed:
		t.Errorf("it is told again: %s", got)
	default:
	}
}

func (m *memory) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.objects)
}

// TestSchemaChanged: a schema without a field drops it from a stored exception, which keeps its
// resourceVersion and exempts more. The exception is judged again when the definition changes.
func TestSchemaChanged(t *testing.T) {
	w := inWorld(t)
	d := define(t)
	d.becomes(t, &guard.Conversions{legacyKind: {Spec: "1"}})
	k := keep(t, func(k *guard.Controller) { k.Definitions = d.Definitions }, w.rules(t, guard.Settings{}, nil), w.sealed(t, draft("a", "x", hour, ""), now.Add(-10*time.Minute)))
	k.says(t, "found a verified", "report [a verified]")
	k.idle(t)
	k.store.mu.Lock()
	for id, o := range k.store.objects {
		k.store.objects[id] = copied(t, o, func(o object) { delete(o["spec"].(object), "match") })
	}
	k.store.mu.Unlock()
	d.becomes(t, &guard.Conversions{legacyKind: {Spec: "2"}})
	k.Touch(exception.Identity{Name: "nothing"})
	k.clock.Step(2 * time.Second)
	k.says(t, "found a altered", "report [a altered]")
}
