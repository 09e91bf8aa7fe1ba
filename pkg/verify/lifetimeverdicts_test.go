package verify_test

import (
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// lived seals the draft with other annotations about its life.
func lived(annotations string) maker {
	return func(t *testing.T, w *world) *exception.Document {
		return w.sealed(t, replaced(t, draft, "%s", annotations), set{})
	}
}

const native = `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata:
  name: allow-latest
  namespace: exceptions
  annotations:
    polex.dev/owner: payments
spec:
  policyRefs:
    - kind: ValidatingPolicy
      name: disallow-latest-tag
`

func lifetimeVerdicts(w *world) []verdict {
	at := func(d time.Duration) string { return `"` + w.now.Add(d).UTC().Format(time.RFC3339) + `"` }
	unbounded := func(c *trust.Config) { c.InsecureAllowUnbounded = true }
	anyKind := func(c *trust.Config) { c.Kinds = []string{"*"} }
	oneWeek := func(c *trust.Config) { c.MaxLifetime = "7d" }
	early := set{at: w.now.Add(-time.Minute)}
	expires := w.now.Add(week).UTC().Truncate(time.Second).Sub(w.now)
	configMap := func(annotations string) maker {
		return func(t *testing.T, w *world) *exception.Document {
			return w.sealed(t, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    a: b\n"+annotations, set{})
		}
	}
	natively := func(spec, annotation string) maker {
		return func(t *testing.T, w *world) *exception.Document {
			return w.sealed(t, replaced(t, native+spec, "polex.dev/owner: payments\n", "polex.dev/owner: payments\n"+annotation), set{})
		}
	}
	return []verdict{
		{name: "a nanosecond before its end", doc: forged(set{}), after: expires - 1},
		{name: "32 at its end", want: verify.ReasonExpired, doc: forged(set{}), after: expires},
		{name: "32 33 replayed three years later", want: verify.ReasonExpired, doc: honest, after: 3 * 365 * day},
		{name: "expired before it was signed", want: verify.ReasonExpired, doc: lived("polex.dev/expires-at: " + at(-time.Hour))},
		{name: "expired, and unbounded ones are allowed", want: verify.ReasonExpired, doc: forged(set{}), after: week, policy: unbounded},
		{name: "no end", want: verify.ReasonNoExpiry, doc: lived("a: b")},
		{name: "no end and none asked for", doc: lived("a: b"), policy: unbounded},
		{name: "a duration that nobody resolved", want: verify.ReasonNoExpiry, doc: lived("polex.dev/expires-in: 1h")},
		{name: "a duration that nobody resolved, and unbounded ones are allowed", want: verify.ReasonNoExpiry, doc: lived("polex.dev/expires-in: 1h"), policy: unbounded},
		{name: "another kind's duration that nobody resolved", want: verify.ReasonNoExpiry, doc: configMap("    polex.dev/expires-in: 1h\n"), policy: anyKind},
		{name: "another kind needs no end", doc: configMap(""), policy: anyKind},
		{name: "another kind that has expired", want: verify.ReasonExpired, doc: configMap("    polex.dev/expires-at: " + at(-time.Hour) + "\n"), policy: anyKind},
		{name: "another kind whose life is too long", want: verify.ReasonLifetimeTooLong, doc: configMap("    polex.dev/expires-at: " + at(91*day) + "\n"), policy: anyKind},
		{name: "another kind whose end is no time", want: verify.ReasonBadLifetime, doc: configMap("    polex.dev/expires-at: tomorrow\n"), policy: anyKind},

		{name: "longer than allowed", want: verify.ReasonLifetimeTooLong, doc: lived("polex.dev/expires-at: " + at(90*day+2*time.Second))},
		{name: "as long as allowed", doc: lived("polex.dev/expires-at: " + at(90*day))},
		{name: "longer, and no maximum", doc: lived("polex.dev/expires-at: " + at(900*day)), policy: func(c *trust.Config) { c.MaxLifetime = "" }},
		{name: "its first signature is too old", want: verify.ReasonLifetimeTooLong, policy: func(c *trust.Config) {
			c.Threshold, c.MaxLifetime = 2, "6d23h59m"
			c.Authorities = append(c.Authorities, trust.AuthorityConfig{Name: "anna", Issuer: w.IssuerURL, Subject: "anna@acme.example"})
		}, doc: func(t *testing.T, w *world) *exception.Document {
			late := person("anna@acme.example")
			late.at = w.now.Add(2 * time.Minute)
			return w.sealed(t, w.until(week), late, set{})
		}},
		{name: "signed twice, too early first", want: verify.ReasonLifetimeTooLong, policy: oneWeek, doc: forged(early, set{})},
		{name: "signed twice, too early last", want: verify.ReasonLifetimeTooLong, policy: oneWeek, doc: forged(set{}, early)},

		{name: "not begun", want: verify.ReasonNotYetValid, doc: lived("polex.dev/starts-at: " + at(time.Hour) + "\n    polex.dev/expires-at: " + at(week))},
		{name: "begun", doc: lived("polex.dev/starts-at: " + at(time.Hour) + "\n    polex.dev/expires-at: " + at(week)), after: time.Hour},
		{name: "over when it begins", want: verify.ReasonBadLifetime, doc: lived("polex.dev/starts-at: " + at(week) + "\n    polex.dev/expires-at: " + at(week))},
		{name: "its end is no time", want: verify.ReasonBadLifetime, doc: lived(`polex.dev/expires-at: "2027-01-01"`)},
		{name: "its end has no zone", want: verify.ReasonBadLifetime, doc: lived(`polex.dev/expires-at: "2027-01-01T00:00:00"`)},
		{name: "its beginning is no time", want: verify.ReasonBadLifetime, doc: lived("polex.dev/starts-at: now\n    polex.dev/expires-at: " + at(week))},
		{name: "its duration is none", want: verify.ReasonBadLifetime, doc: lived("polex.dev/expires-in: forever\n    polex.dev/expires-at: " + at(week))},

		{name: "the engine's own field", doc: natively("  expiresAt: "+at(week)+"\n", "")},
		{name: "the engine's own field, expired", want: verify.ReasonExpired, doc: natively("  expiresAt: "+at(week)+"\n", ""), after: week},
		{name: "the engine's own field and the annotation agree", doc: natively("  expiresAt: "+at(week)+"\n", "    polex.dev/expires-at: "+at(week)+"\n")},
		{name: "the engine's own field and the annotation do not", want: verify.ReasonBadLifetime, doc: natively("  expiresAt: "+at(week)+"\n", "    polex.dev/expires-at: "+at(day)+"\n")},
		{name: "the engine's own field is changed", want: verify.ReasonAltered, doc: func(t *testing.T, w *world) *exception.Document {
			return edited(t, natively("  expiresAt: "+at(week)+"\n", "")(t, w), func(root object) { dig(t, root, "spec")["expiresAt"] = "2099-01-01T00:00:00Z" })
		}},

		{name: "signed tomorrow", want: verify.ReasonSignedInFuture, doc: forged(set{at: w.now.Add(day), fulcio: func(f *sandbox.Forgery) { f.Template.NotAfter = w.now.Add(2 * day) }})},
		{name: "verified by a clock that lags", want: verify.ReasonSignedInFuture, doc: honest, after: -time.Hour},
		{name: "verified by a clock that lags a little", doc: forged(set{}), after: -9 * time.Minute},
		{name: "a stranger signed tomorrow", want: verify.ReasonSignedInFuture, doc: forged(set{}, set{at: w.now.Add(day), fulcio: func(f *sandbox.Forgery) {
			f.Template.URIs[0].Host, f.Template.NotAfter = "stranger.invalid", w.now.Add(2*day)
		}})},
	}
}
