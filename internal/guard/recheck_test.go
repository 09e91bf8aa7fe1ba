package guard_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// dying returns an object that is being deleted in the foreground.
func dying(t *testing.T, o object, finalizers ...any) object {
	return copied(t, o, func(o object) {
		metadata(o)["deletionTimestamp"], metadata(o)["deletionGracePeriodSeconds"] = "2026-01-01T00:00:00Z", int64(0)
		metadata(o)["finalizers"] = append([]any{"foregroundDeletion"}, finalizers...)
	})
}

// TestExpiryWhileDeleted: an exception that is being deleted is effective until it is gone. So it
// expires, its problems are reported, and its deletion waits for no dependents.
func TestExpiryWhileDeleted(t *testing.T) {
	w := inWorld(t)
	early := now.Add(-time.Minute)
	short := w.sealed(t, draft("short", "x", 10*time.Second, ""), early)
	beta := w.sealed(t, replaced(t, draft("short", "x", 10*time.Second, ""), "kyverno.io/v2", "kyverno.io/v2beta1"), early)
	withOwn := w.sealed(t, replaced(t, draft("own", "x", 10*time.Second, ""), "  namespace: x", "  namespace: x\n  finalizers: [a/b, c/d]"), early)
	for name, tc := range map[string]struct {
		object
		found, then []string
	}{
		"in the foreground":             {dying(t, short), []string{"found short deleting", "removed short deleting", "report []"}, nil},
		"without a signature":           {dying(t, copied(t, short, unseal)), []string{"found short unsigned", "removed short unsigned", "report []"}, nil},
		"in another version":            {dying(t, beta), []string{"found short deleting", "removed short deleting", "report []"}, nil},
		"with another spec":             {dying(t, copied(t, short, func(o object) { o["spec"] = object{} })), []string{"found short altered", "removed short altered", "report []"}, nil},
		"with less finalizers than own": {dying(t, withOwn, "c/d"), []string{"found own deleting", "failed delete PolicyException.kyverno.io x/own: its finalizers keep it", "report [own deleting]"}, []string{"failed delete PolicyException.kyverno.io x/own: its finalizers keep it", "report [own expired]"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := keep(t, nil, w.rules(t, guard.Settings{}, nil), tc.object)
			k.settles(t, tc.found...)
			k.clock.SetTime(now.Add(10 * time.Second))
			k.settles(t, tc.then...)
		})
	}
}

// TestKeptByKyverno: the report of a deletion names the exceptions that Kyverno keeps, also if they could
// not be read any more.
func TestKeptByKyverno(t *testing.T) {
	w := inWorld(t)
	for kind, kept := range map[string]string{
		"ValidatingPolicy": "", "NamespacedValidatingPolicy": ", kept", "NamespacedGeneratingPolicy": "",
		"NamespacedMutatingPolicy": ", kept", "NamespacedImageValidatingPolicy": ", kept", "NamespacedDeletingPolicy": "",
	} {
		t.Run(kind, func(t *testing.T) {
			text := replaced(t, conditional("object.kind == 'Pod'"), "kind: ValidatingPolicy", "kind: "+kind)
			o := w.sealed(t, text, now.Add(-time.Minute))
			k := keep(t, nil, w.rules(t, guard.Settings{}, nil), o)
			k.settles(t, "found a verified", "report [a verified]")
			k.clock.SetTime(now.Add(hour))
			k.says(t, "found a expired", "removed a expired"+kept, "report []")

			k = keep(t, func(k *guard.Controller) { k.Enforce = true }, w.rules(t, guard.Settings{}, nil), o)
			k.says(t, "found a verified", "report [a verified]")
			k.store.put(t, copied(t, o, func(o object) { o["spec"].(object)["deep"] = nested(70) }))
			k.settles(t, "found a unreadable")
			k.clock.SetTime(now.Add(2 * time.Second))
			k.settles(t, "report [a unreadable]")
			k.clock.SetTime(now.Add(every))
			k.says(t, "removed a unreadable"+kept, "report []")
		})
	}
}

// nested returns a value with this number of levels.
func nested(levels int) any {
	var v any = "x"
	for range levels {
		v = []any{v}
	}
	return v
}

// TestUnreadable: an unreadable object is reported, and with Enforce deleted.
func TestUnreadable(t *testing.T) {
	w := inWorld(t)
	early := now.Add(-time.Minute)
	old := func(name string) object {
		return w.sealed(t, replaced(t, draft(name, "x", 100*hour, ""), "kyverno.io/v2", "kyverno.io/v2beta1"), early)
	}
	for name, tc := range map[string]struct {
		object
		store func(*memory)
		says  []string
	}{
		"too deep":                         {copied(t, w.sealed(t, draft("a", "x", 100*hour, ""), early), func(o object) { o["spec"].(object)["deep"] = nested(70) }), nil, nil},
		"signed in a version that is gone": {old("a"), func(m *memory) { m.unserved = []string{"v2beta1"} }, nil},
		"a read that fails":                {old("a"), func(m *memory) { m.broken = errors.New("conversion fails") }, []string{"failed read PolicyException.kyverno.io x/a: conversion fails"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := keep(t, func(k *guard.Controller) {
				k.Enforce = true
				if tc.store != nil {
					tc.store(k.Store.(*memory))
				}
			}, w.rules(t, guard.Settings{}, nil), tc.object)
			k.settles(t, append(tc.says, "found a unreadable", "report [a unreadable]")...)
			k.clock.SetTime(now.Add(every))
			k.settles(t, append(tc.says, "removed a unreadable", "report []")...)
		})
	}
}

// TestUnservedVersionOfAnother: a message in a version that is not served has no effect if it is
// unsigned or for another object.
func TestUnservedVersionOfAnother(t *testing.T) {
	w := inWorld(t)
	early := now.Add(-time.Minute)
	old := w.sealed(t, replaced(t, draft("a", "x", hour, ""), "kyverno.io/v2", "kyverno.io/v9"), early)
	for name, tc := range map[string]struct {
		object
		want string
	}{
		"of another":   {copied(t, old, func(o object) { metadata(o)["name"] = "b" }), "found b altered"},
		"with another": {copied(t, old, func(o object) { annotate(o, "cosign.sigstore.dev/signature", "MAUCAQECAQE=") }), "found a unknown-key"},
	} {
		t.Run(name, func(t *testing.T) {
			k := keep(t, func(k *guard.Controller) { k.Store.(*memory).unserved = []string{"v9"} }, w.rules(t, guard.Settings{}, nil), tc.object)
			k.says(t, tc.want, "report ["+strings.TrimPrefix(tc.want, "found ")+"]")
		})
	}
}

// TestExpiryOfUnserved: the expiry stays known if the signed version is no longer served, also
// after a restart of the guard and if the conversion changes the exception.
func TestExpiryOfUnserved(t *testing.T) {
	w := inWorld(t)
	o := w.sealed(t, replaced(t, draft("a", "x", 10*time.Second, ""), "kyverno.io/v2", "kyverno.io/v2beta1"), now.Add(-time.Minute))
	for name, o := range map[string]object{"as it was": o, "converted": copied(t, o, func(o object) { o["spec"].(object)["background"] = true })} {
		t.Run(name, func(t *testing.T) {
			k := keep(t, func(k *guard.Controller) { k.Store.(*memory).unserved = []string{"v2beta1"} }, w.rules(t, guard.Settings{}, nil), o)
			k.settles(t, "found a unreadable", "report [a unreadable]")
			k.clock.SetTime(now.Add(10 * time.Second))
			k.says(t, "found a expired", "removed a expired", "report []")
		})
	}
}

// TestExpiryOfMany: exceptions with the same expiry are deleted at once, also if somebody changes them at that moment.
func TestExpiryOfMany(t *testing.T) {
	w := inWorld(t)
	var all []object
	var found, removed, names []string
	for i := range 30 {
		name := fmt.Sprintf("a-%02d", i)
		all = append(all, w.sealed(t, draft(name, "x", 10*time.Second, ""), now.Add(-time.Minute)))
		found, removed, names = append(found, "found "+name+" verified"), append(removed, "removed "+name+" expired"), append(names, name+" verified")
	}
	k := keep(t, nil, w.rules(t, guard.Settings{}, nil), all...)
	k.settles(t, append(found, fmt.Sprintf("report %v", names))...)
	k.store.locked(func(m *memory) { m.touch = nil })
	k.store.put(t, copied(t, all[7], func(o object) { o["status"] = object{"a": "b"} }))
	k.clock.SetTime(now.Add(10 * time.Second))
	k.says(t, append(removed, "found a-07 expired", "report []")...)
}

// TestJudgedOnce: an unchanged object is not read or judged again. After a change of the rules or
// the clock, all objects are.
func TestJudgedOnce(t *testing.T) {
	w := inWorld(t)
	k := keep(t, nil, w.rules(t, guard.Settings{}, nil), w.sealed(t, draft("a", "x", 100*hour, ""), now.Add(-time.Minute)))
	k.settles(t, "found a verified", "report [a verified]")
	looks := func() int {
		k.store.mu.Lock()
		defer k.store.mu.Unlock()
		return k.store.looks
	}
	first := looks()
	for range 3 {
		k.clock.Step(every)
		k.idle(t)
	}
	n := looks()
	expect.That(t, n == first, "it was read %d times more", n-first)
	k.Rules.Replace(w.rules(t, guard.Settings{}, func(c *trust.Config) { c.Kinds = []string{"ConfigMap", "PolicyException.kyverno.io"} }))
	k.clock.Step(time.Second)
	for looks() == first {
		k.idle(t)
	}
}

// TestChangedInAnotherVersion: a change is found that only the signed version shows.
func TestChangedInAnotherVersion(t *testing.T) {
	w := inWorld(t)
	o := w.sealed(t, replaced(t, draft("a", "x", 100*hour, ""), "kyverno.io/v2", "kyverno.io/v2beta1"), now.Add(-time.Minute))
	k := keep(t, nil, w.rules(t, guard.Settings{}, nil), o)
	k.settles(t, "found a verified", "report [a verified]")
	k.store.put(t, copied(t, o, func(o object) { o["spec"].(object)["onlyBeta"] = true }))
	k.says(t, "found a altered")
}

// TestGoneBetweenReads: an object that is deleted before it is read in the signed version has no finding,
// and neither does one that was created again under the same name.
func TestGoneBetweenReads(t *testing.T) {
	w := inWorld(t)
	o := w.sealed(t, replaced(t, draft("a", "x", 100*hour, ""), "kyverno.io/v2", "kyverno.io/v2beta1"), now.Add(-time.Minute))
	for name, change := range map[string]func(*memory){
		"deleted":       func(m *memory) { m.gone = []string{"v2beta1"} },
		"created again": func(m *memory) { m.another = []string{"v2beta1"} },
	} {
		t.Run(name, func(t *testing.T) {
			k := keep(t, nil, w.rules(t, guard.Settings{}, nil), o)
			k.settles(t, "found a verified", "report [a verified]")
			k.store.locked(change)
			k.store.put(t, copied(t, o, func(o object) { annotate(o, "a", "b") }))
			k.clock.Step(time.Second)
			k.settles(t, "report []")
		})
	}
}

// TestEdited: an edit without a review, for example in etcd, is judged although the exception was
// verified before. The original content passes again.
func TestEdited(t *testing.T) {
	w := inWorld(t)
	o := w.sealed(t, draft("a", "x", 100*hour, ""), now.Add(-time.Minute))
	k := keep(t, nil, w.rules(t, guard.Settings{}, nil), o)
	k.settles(t, "found a verified", "report [a verified]")
	for _, edit := range []func(object){
		func(o object) { o["spec"].(object)["background"] = true },
		func(o object) { metadata(o)["labels"] = object{"a": "b"} },
		func(o object) { annotate(o, "a", "b") },
		func(o object) { metadata(o)["finalizers"] = []any{"a/b"} },
		func(o object) { metadata(o)["ownerReferences"] = []any{object{"name": "b"}} },
	} {
		k.store.put(t, copied(t, o, edit))
		k.settles(t, "found a altered")
		k.store.put(t, o)
		k.settles(t, "found a verified")
		k.clock.Step(2 * time.Second)
		k.settles(t, "report [a verified]")
	}
	k.store.put(t, copied(t, o, func(o object) { o["status"], metadata(o)["generation"] = object{"a": "b"}, int64(9) }))
	k.idle(t)
}

// TestClockJumps: after the clock was changed, exceptions that have expired, or that were signed in
// the future, are rejected. When the clock is correct again, they are accepted again.
func TestClockJumps(t *testing.T) {
	w := inWorld(t)
	clock := now
	h := handler(t, w.rules(t, guard.Settings{}, nil), guard.Config{Now: func() time.Time { return clock }})
	sealed := w.sealed(t, draft("a", "exceptions", hour, ""), now.Add(-10*time.Minute))
	raw := asJSON(t, sealed)
	// The clock has no effect on an update without a change. This update makes a change.
	old := asJSON(t, copied(t, sealed, func(o object) { metadata(o)["labels"] = object{"a": "b"} }))
	for _, step := range []struct {
		name string
		at   time.Duration
		want string
	}{
		{"right", 0, "verified"},
		{"ahead, just not beyond its end", hour - time.Second, "verified"},
		{"ahead, beyond its end", hour, "expired"},
		{"right again", 0, "verified"},
		{"back, before it was signed", -hour, "signed-in-the-future"},
		{"years back", -10 * 365 * 24 * hour, "signed-in-the-future"},
		{"years ahead", 10 * 365 * 24 * hour, "expired"},
		{"right at last", time.Second, "verified"},
	} {
		clock = now.Add(step.at)
		for _, operation := range []admissionv1.Operation{create, update} {
			expect.Is(t, fmt.Sprintf("%s: %s", step.name, operation),
				step.want, judged(t, h, request(t, operation, raw, old)))
		}
	}
}

// TestClockBack: after the clock was set back, an exception that was signed in the future is
// reported and never deleted, even with Enforce. When the clock is correct again, it passes.
func TestClockBack(t *testing.T) {
	w := inWorld(t)
	k := keep(t, func(k *guard.Controller) { k.Enforce, k.Every = true, time.Minute }, w.rules(t, guard.Settings{}, nil),
		w.sealed(t, draft("a", "x", 10*hour, ""), now.Add(-10*time.Minute)))
	k.settles(t, "found a verified", "report [a verified]")
	// A real timer does not depend on the clock. The fake one does, so the test wakes the controller.
	wake := func() { k.Touch(exception.Identity{GroupKind: legacyKind, Name: "nothing"}) }
	k.clock.SetTime(now.Add(-2 * hour))
	wake()
	k.settles(t, "found a signed-in-the-future", "report [a signed-in-the-future]")
	k.clock.SetTime(now.Add(-hour))
	wake()
	k.idle(t)
	k.clock.SetTime(now.Add(time.Minute))
	k.settles(t, "found a verified", "report [a verified]")
}

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
