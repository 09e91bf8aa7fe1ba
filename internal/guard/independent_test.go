package guard_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestKindThatHangs: while the objects of one kind cannot be read, those of another are found,
// checked again and deleted at their end. The check of all objects counts again once both are read.
func TestKindThatHangs(t *testing.T) {
	w := inWorld(t)
	hangs := make(chan struct{})
	release := sync.OnceFunc(func() { close(hangs) })
	defer release()
	other := w.sealed(t, conditional("object.metadata.name == 'web'"), now.Add(-time.Minute))
	k := keep(t, func(c *guard.Controller) {
		c.Store.(*memory).hangs = map[exception.GroupKind]chan struct{}{kyverno.ConditionKind: hangs}
	}, w.rules(t, guard.Settings{}, nil), w.sealed(t, draft("mine", "x", 10*time.Second, ""), now.Add(-time.Minute)), other)
	k.says(t, "found mine verified")
	k.waits(t, 2)
	k.clock.SetTime(now.Add(10 * time.Second))
	k.says(t, "removed mine expired", "report []")
	k.waits(t, 2)
	k.rechecked(t, time.Unix(0, 0))
	release()
	k.settles(t, "found a verified")
	k.rechecked(t, now)
}

// TestUnwatchedKind: the check of all objects does not count while changes of one kind are not seen,
// and the others are checked all the same.
func TestUnwatchedKind(t *testing.T) {
	w := inWorld(t)
	blind := kyverno.ConditionKind
	k := keep(t, func(c *guard.Controller) { c.Store.(*memory).unwatched = map[exception.GroupKind]bool{blind: true} },
		w.rules(t, guard.Settings{}, nil), w.sealed(t, draft("mine", "x", 10*time.Hour, ""), now.Add(-time.Minute)))
	k.settles(t, "found mine verified", "report [mine verified]")
	k.clock.Step(every)
	k.idle(t)
	k.rechecked(t, time.Unix(0, 0))
	k.store.locked(func(m *memory) { m.unwatched = nil })
	k.Renew(blind)
	k.clock.Step(every)
	k.idle(t)
	k.rechecked(t, now.Add(2*every))
}

// TestUnreadObject: the check of all objects does not count if one of them could not be read.
func TestUnreadObject(t *testing.T) {
	w := inWorld(t)
	k := keep(t, func(c *guard.Controller) { c.Store.(*memory).broken = guard.ErrNotServed },
		w.rules(t, guard.Settings{}, nil), w.sealed(t, draft("a", "x", 10*time.Hour, ""), now.Add(-time.Minute)))
	k.settles(t, "found a unreadable", "failed read PolicyException.kyverno.io x/a: "+guard.ErrNotServed.Error(), "report [a unreadable]")
	k.rechecked(t, time.Unix(0, 0))
}

// TestReportWaitsForDeletions: while a deletion of one kind is waited for, a change of another kind makes
// no report, which would name an object that is about to go.
func TestReportWaitsForDeletions(t *testing.T) {
	w := inWorld(t)
	held := make(chan struct{})
	release := sync.OnceFunc(func() { close(held) })
	defer release()
	other := w.sealed(t, conditional("object.kind == 'Pod'"), now.Add(-time.Minute))
	k := keep(t, func(c *guard.Controller) { c.Store.(*memory).held = map[string]chan struct{}{"mine": held} },
		w.rules(t, guard.Settings{}, nil), w.sealed(t, draft("mine", "x", 10*time.Second, ""), now.Add(-time.Minute)), other)
	k.settles(t, "found mine verified", "found a verified", "report [a verified mine verified]")
	k.clock.SetTime(now.Add(10 * time.Second))
	k.idle(t)
	k.store.put(t, copied(t, other, func(o object) { metadata(o)["labels"] = object{"a": "b"} }))
	k.settles(t, "found a altered")
	release()
	k.says(t, "removed mine expired", "report [a altered]")
}

// TestReportHangs: an exception is deleted at its end, and the metrics tell the findings, while a
// report of an earlier change is still being written.
func TestReportHangs(t *testing.T) {
	w := inWorld(t)
	hangs := make(chan struct{})
	release := sync.OnceFunc(func() { close(hangs) })
	defer release()
	k := keep(t, func(c *guard.Controller) { c.Store.(*memory).report = hangs },
		w.rules(t, guard.Settings{}, nil), w.sealed(t, draft("a", "x", 10*time.Second, ""), now.Add(-time.Minute)))
	k.says(t, "found a verified", "report [a verified]")
	k.waits(t, 3)
	k.clock.SetTime(now.Add(10 * time.Second))
	k.says(t, "removed a expired")
	k.waits(t, 3)
	expect.Is(t, "the metrics", 0, k.exceptions(t))
	release()
	limit := time.After(waitLimit)
	for {
		k.clock.Step(time.Second) // it ends the report at some time
		select {
		case told := <-k.told:
			expect.Is(t, "told", "report []", told)
			return
		case <-limit:
			t.Fatal("there is no report")
		case <-time.After(time.Millisecond):
		}
	}
}

// TestMetricsWhileReportHangs: while a report is being written, the metrics tell new findings once a
// second, and not after each change.
func TestMetricsWhileReportHangs(t *testing.T) {
	w := inWorld(t)
	hangs := make(chan struct{})
	defer close(hangs)
	k := keep(t, func(c *guard.Controller) { c.Store.(*memory).report = hangs },
		w.rules(t, guard.Settings{}, nil), w.sealed(t, draft("a", "x", hour, ""), now.Add(-time.Minute)))
	k.says(t, "found a verified", "report [a verified]")
	k.waits(t, 3)
	k.store.put(t, copied(t, w.sealed(t, draft("b", "x", hour, ""), now), unseal))
	k.says(t, "found b unsigned")
	k.waits(t, 3)
	expect.Is(t, "the metrics", 1, k.exceptions(t))
	k.clock.Step(time.Second)
	k.waits(t, 3)
	expect.Is(t, "the metrics", 2, k.exceptions(t))
}

// TestDeletionHangs: a deletion that hangs, for example in a webhook of somebody else, does not hold up
// the others, and is done when it ends.
func TestDeletionHangs(t *testing.T) {
	w := inWorld(t)
	held, early := make(chan struct{}), now.Add(-time.Minute)
	release := sync.OnceFunc(func() { close(held) })
	defer release()
	k := keep(t, func(c *guard.Controller) { c.Store.(*memory).held = map[string]chan struct{}{"slow": held} }, w.rules(t, guard.Settings{}, nil),
		w.sealed(t, draft("slow", "x", 10*time.Second, ""), early), w.sealed(t, draft("later", "x", 13*time.Second, ""), early))
	k.settles(t, "found slow verified", "found later verified", "report [later verified slow verified]")
	k.clock.SetTime(now.Add(10 * time.Second))
	k.idle(t)
	k.clock.Step(time.Second) // it waits no longer for the deletion
	k.idle(t)
	k.clock.SetTime(now.Add(13 * time.Second))
	k.settles(t, "removed later expired", "report [slow verified]")
	expect.Is(t, "deletions, and one hangs", 2, k.store.deletes)
	release()
	k.says(t, "removed slow expired")
	k.clock.Step(2 * time.Second)
	k.says(t, "report []")
}

// TestBacklog: a new leader that finds expired exceptions deletes them concurrently, also while it reads
// others, and when many change at once.
func TestBacklog(t *testing.T) {
	w := inWorld(t)
	for _, tc := range []struct{ expired, others, together int }{{30, 0, 20}, {3, 0, 3}, {3, 30, 3}, {16, 16, 16}} {
		var objects []object
		expire := func(lives time.Duration, n int, name string) {
			for i := range n {
				objects = append(objects, w.sealed(t, draft(fmt.Sprintf("%s-%d", name, i), "x", lives, ""), now.Add(-time.Hour)))
			}
		}
		expire(-time.Minute, tc.expired, "old")
		expire(time.Hour, tc.others, "new")
		k := keep(t, func(c *guard.Controller) {
			m := c.Store.(*memory)
			m.together, m.gathered = tc.together, make(chan struct{})
		}, w.rules(t, guard.Settings{}, nil), objects...)
		for removed := 0; removed < tc.expired; {
			select {
			case told := <-k.told:
				if strings.HasPrefix(told, "removed old-") {
					removed++
				}
			case <-time.After(waitLimit):
				close(k.store.gathered) // ends the deletions
				t.Fatalf("%+v: it has deleted %d", tc, removed)
			}
		}
	}
}

// exceptions returns the number of series of stored exceptions.
func (k *keeping) exceptions(t *testing.T) int {
	t.Helper()
	families := must.Get(k.registry.Gather())(t)
	for _, family := range families {
		if family.GetName() == "polex_guard_exceptions" {
			return len(family.GetMetric())
		}
	}
	return 0
}

// TestChangedAllTheTime: an exception that changes before each deletion is deleted at its end, and
// so is one that Enforce removes. One that is renewed at that moment stays.
func TestChangedAllTheTime(t *testing.T) {
	w := inWorld(t)
	honest := w.sealed(t, draft("a", "x", 10*time.Second, ""), now.Add(-time.Minute))
	unsigned := copied(t, honest, unseal)
	renewed := w.sealed(t, draft("a", "x", 10*time.Hour, ""), now.Add(-time.Minute))
	for name, tc := range map[string]struct {
		object, then object
		found        string
		says         []string
	}{
		"expired":  {honest, nil, "verified", []string{"found a expired", "removed a expired"}},
		"rejected": {unsigned, nil, "unsigned", []string{"removed a unsigned"}},
		"renewed":  {honest, renewed, "verified", []string{"found a verified"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := keep(t, func(c *guard.Controller) { c.Enforce, c.Every = true, 10*time.Second }, w.rules(t, guard.Settings{}, nil), tc.object)
			k.settles(t, "found a "+tc.found, "report [a "+tc.found+"]")
			k.store.locked(func(m *memory) { m.touch, m.changes = nil, true })
			if tc.then != nil {
				k.store.put(t, tc.then)
			}
			k.clock.SetTime(now.Add(10 * time.Second))
			if k.says(t, tc.says...); tc.then != nil {
				return
			}
			k.store.locked(func(m *memory) { expect.Is(t, "requests", 1+rivals, m.deletes) })
		})
	}
}

// rivals is the number of concurrent requests to delete an object that changes all the time.
const rivals = 8

// TestRenew: all objects of a kind are read again when their contents may have changed unseen, also
// if their resource versions have not. After a change of the definition this happens twice.
func TestRenew(t *testing.T) {
	w := inWorld(t)
	widen := func(o object) { delete(o["spec"].(object), "match") }
	for name, tc := range map[string]struct {
		renew func(*keeping)
		after time.Duration
	}{
		"after a watch ended":      {func(k *keeping) { k.Renew(legacyKind) }, time.Second},
		"after a new definition":   {func(k *keeping) { k.Definitions.Set(legacyKind, guard.Definition{State: "2"}) }, time.Second},
		"once more after a while":  {func(k *keeping) { k.Definitions.Set(legacyKind, guard.Definition{State: "2"}) }, 11 * time.Second},
		"without a new definition": {func(k *keeping) { k.Definitions.Set(legacyKind, guard.Definition{State: "1"}) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			k := keep(t, func(c *guard.Controller) { c.Definitions = defining(guard.Definition{State: "1"}) },
				w.rules(t, guard.Settings{}, nil), w.sealed(t, draft("a", "x", 10*hour, ""), now.Add(-time.Minute)))
			k.settles(t, "found a verified", "report [a verified]")
			if tc.after > time.Second {
				tc.renew(k)
				k.clock.Step(time.Second)
				k.idle(t)
			}
			k.store.edit(t, false, widen)
			if tc.after <= time.Second {
				tc.renew(k)
			}
			k.clock.Step(max(tc.after, time.Second))
			if tc.after == 0 {
				k.idle(t)
				return
			}
			k.says(t, "found a altered", "report [a altered]")
		})
	}
}

// waits waits until this number of tasks wait for the clock.
func (k *keeping) waits(t *testing.T, n int) {
	t.Helper()
	limit := time.After(waitLimit)
	for k.clock.Waiters() < n {
		select {
		case told := <-k.told:
			t.Fatalf("it says %q", told)
		case <-limit:
			t.Fatal("nothing waits for the clock")
		default:
		}
	}
}
