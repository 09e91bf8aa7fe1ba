package guard_test

import (
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
)

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
			if got := judged(t, h, request(t, operation, raw, old)); got != step.want {
				t.Errorf("%s: %s is %q, want %q", step.name, operation, got, step.want)
			}
		}
	}
}

// TestClockBack: after the clock was set back, an exception that was signed in the future is
// reported and never deleted, even with Enforce. When the clock is correct again, it passes.
func TestClockBack(t *testing.T) {
	w := inWorld(t)
	k := keep(t, func(k *guard.Controller) { k.Enforce, k.Every = true, time.Minute }, w.rules(t, guard.Settings{}, nil),
		w.sealed(t, draft("a", "x", 10*hour, ""), now.Add(-10*time.Minute)))
	k.says(t, "found a verified", "report [a verified]")
	k.idle(t)
	// A real timer does not depend on the clock. The fake one does, so the test wakes the
	// controller.
	wake := func() { k.Touch(exception.Identity{GroupKind: legacyKind, Name: "nothing"}) }
	k.clock.SetTime(now.Add(-2 * hour))
	wake()
	k.says(t, "found a signed-in-the-future", "report [a signed-in-the-future]")
	k.idle(t)
	k.clock.SetTime(now.Add(-hour))
	wake()
	k.idle(t)
	k.clock.SetTime(now.Add(time.Minute))
	k.says(t, "found a verified", "report [a verified]")
	k.idle(t)
}
