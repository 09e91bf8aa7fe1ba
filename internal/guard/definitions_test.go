package guard_test

import (
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/must"
)

// defining returns the definition of the older kind.
func defining(definition guard.Definition) *guard.Definitions {
	d := &guard.Definitions{}
	d.Set(legacyKind, definition)
	d.Watched(legacyKind, true)
	return d
}

var legacyKind = exception.GroupKind{Group: exception.KyvernoGroup, Kind: exception.Kind}

// TestConverted: while a webhook converts exceptions, none of them is verified, because Kyverno may
// see another exception. They are not deleted for this reason, but each is deleted when it expires.
func TestConverted(t *testing.T) {
	w := inWorld(t)
	d := defining(guard.Definition{})
	k := keep(t, func(k *guard.Controller) { k.Definitions, k.Enforce, k.Every = d, true, 8*time.Minute }, w.rules(t, guard.Settings{}, nil),
		w.sealed(t, draft("a", "x", 10*time.Minute, ""), now.Add(-10*time.Minute)))
	k.settles(t, "found a verified", "report [a verified]")
	d.Set(legacyKind, guard.Definition{Conversion: "a webhook"})
	k.Touch(exception.Identity{GroupKind: legacyKind, Name: "nothing"})
	k.clock.Step(2 * time.Second)
	k.settles(t, "found a conversion-webhook", "report [a conversion-webhook]")
	k.clock.Step(9 * time.Minute) // with Enforce, other exceptions would be deleted
	k.idle(t)
	must.That(t, k.store.count() == 1, "it is gone before its end")
	k.clock.Step(time.Minute) // its expiry, long before the next check of all objects
	k.says(t, "removed a expired", "report []")
}

// TestDefinitionsUnread: nothing is verified until the definition has been read. It stays valid
// while it cannot be read again, but then no check of all objects counts.
func TestDefinitionsUnread(t *testing.T) {
	w := inWorld(t)
	d := &guard.Definitions{}
	k := keep(t, func(k *guard.Controller) { k.Definitions = d }, w.rules(t, guard.Settings{}, nil), w.sealed(t, draft("a", "x", 10*hour, ""), now.Add(-10*time.Minute)))
	k.settles(t, "found a conversion-webhook", "report [a conversion-webhook]")
	for _, kind := range kyverno.Kinds() {
		d.Set(kind, guard.Definition{})
		d.Watched(kind, true)
	}
	k.clock.Step(2 * time.Second)
	k.settles(t, "found a verified", "report [a verified]")
	k.rechecked(t, now.Add(2*time.Second))
	d.Watched(legacyKind, false)
	k.clock.Step(every)
	k.idle(t)
	k.rechecked(t, now.Add(2*time.Second))
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
	d := defining(guard.Definition{State: "1"})
	k := keep(t, func(k *guard.Controller) { k.Definitions = d }, w.rules(t, guard.Settings{}, nil), w.sealed(t, draft("a", "x", hour, ""), now.Add(-10*time.Minute)))
	k.settles(t, "found a verified", "report [a verified]")
	k.store.mu.Lock()
	for id, o := range k.store.objects {
		k.store.objects[id] = copied(t, o, func(o object) { delete(o["spec"].(object), "match") })
	}
	k.store.mu.Unlock()
	d.Set(legacyKind, guard.Definition{State: "2"})
	k.Touch(exception.Identity{GroupKind: legacyKind, Name: "nothing"})
	k.clock.Step(2 * time.Second)
	k.says(t, "found a altered", "report [a altered]")
}
