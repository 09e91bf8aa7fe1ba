package verify_test

import (
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// lived signs the draft with other annotations about its lifetime.
func lived(annotations string) maker {
	return func(t *testing.T, w *world) *exception.Document {
		return w.sealed(t, replaced(t, draft, "%s", annotations), set{})
	}
}

// restored is a document that a backup tool or a sync created again after a deletion.
func restored(created time.Time, doc maker) maker {
	return func(t *testing.T, w *world) *exception.Document {
		return edited(t, doc(t, w), func(root object) {
			metadata := dig(t, root, "metadata")
			metadata["creationTimestamp"], metadata["uid"] = created.UTC().Format(time.RFC3339), "0e2a6f0c-0000-4000-8000-000000000000"
			metadata["resourceVersion"], metadata["generation"] = "1", int64(1)
		})
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
	ownKey := func(c *trust.Config) { c.ExpiryKeys = []string{"acme.example/until"} }
	grandfathered := func(annotations, until string) func(*trust.Config) {
		return func(c *trust.Config) {
			doc, err := exception.Parse([]byte(strings.Replace(draft, "%s", annotations, 1)), "")
			if err != nil {
				panic(err)
			}
			c.Grandfathered = []trust.Grandfather{{Digest: lifetime.ContentDigest(doc), Until: until}}
		}
	}
	nextWeek := w.now.Add(week).UTC().Format(time.RFC3339)
	endless := func(c *trust.Config) { c.MaxLifetime = "" }
	labelled := func(label string) maker {
		return func(t *testing.T, w *world) *exception.Document {
			text := replaced(t, replaced(t, draft, "%s", "a: b"), "    team: payments\n", "    team: payments\n    "+exception.LabelTTL+": "+label+"\n")
			return w.sealed(t, text, set{})
		}
	}
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
		{name: "at its end", want: verify.ReasonExpired, doc: forged(set{}), after: expires},
		{name: "replayed three years later", want: verify.ReasonExpired, doc: honest, after: 3 * 365 * day},
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

		{name: "the zero time as its end", want: verify.ReasonBadLifetime, doc: lived(`polex.dev/expires-at: "0001-01-01T00:00:00Z"`), policy: unbounded},
		{name: "the zero time as another kind's end", want: verify.ReasonBadLifetime, doc: configMap("    polex.dev/expires-at: \"0001-01-01T00:00:00Z\"\n"), policy: anyKind},
		{name: "the zero time as the engine's own end", want: verify.ReasonBadLifetime, doc: natively("  expiresAt: \"0001-01-01T00:00:00Z\"\n", ""), policy: unbounded},
		{name: "its end has an hour of one digit", want: verify.ReasonBadLifetime, doc: lived(`polex.dev/expires-at: "2099-01-01T7:00:00Z"`), policy: endless},
		{name: "its end has a comma", want: verify.ReasonBadLifetime, doc: lived(`polex.dev/expires-at: "2099-01-01T07:00:00,5Z"`), policy: endless},
		{name: "its end is 24 hours off", want: verify.ReasonBadLifetime, doc: lived(`polex.dev/expires-at: "2099-01-01T07:00:00+24:00"`), policy: endless},
		{name: "its end is 60 minutes off", want: verify.ReasonBadLifetime, doc: lived(`polex.dev/expires-at: "2099-01-01T07:00:00+23:60"`), policy: endless},
		{name: "its end is a number", want: verify.ReasonBadLifetime, doc: lived("polex.dev/expires-at: 4070908800"), policy: unbounded},
		{name: "its end is a list", want: verify.ReasonBadLifetime, doc: lived("polex.dev/expires-at: [" + at(week) + "]"), policy: unbounded},
		{name: "its end is null", want: verify.ReasonBadLifetime, doc: lived("polex.dev/expires-at: null"), policy: unbounded},
		{name: "its end is empty", want: verify.ReasonBadLifetime, doc: lived(`polex.dev/expires-at: ""`), policy: unbounded},
		{name: "its duration is a number", want: verify.ReasonBadLifetime, doc: lived("polex.dev/expires-in: 7"), policy: unbounded},
		{name: "its beginning is a number", want: verify.ReasonBadLifetime, doc: lived("polex.dev/starts-at: 4070908800\n    polex.dev/expires-at: " + at(week)), policy: unbounded},
		{name: "another kind's end is a number", want: verify.ReasonBadLifetime, doc: configMap("    polex.dev/expires-at: 4070908800\n"), policy: anyKind},
		{name: "the engine's own end is a number", want: verify.ReasonBadLifetime, doc: natively("  expiresAt: 4070908800\n", ""), policy: unbounded},
		{name: "the engine's own end is null", want: verify.ReasonBadLifetime, doc: natively("  expiresAt: null\n", ""), policy: unbounded},
		{name: "the engine's own end is a list beside an end", want: verify.ReasonBadLifetime, doc: natively("  expiresAt: []\n", "    polex.dev/expires-at: "+at(week)+"\n")},

		{name: "an end that counts from when the object is created", want: verify.ReasonBadLifetime, doc: labelled("30d"), policy: unbounded},
		{name: "an end in the engine's label alone", doc: labelled(w.now.Add(week).UTC().Format("2006-01-02T150405Z"))},
		{name: "an end in the engine's label alone that is too far", want: verify.ReasonLifetimeTooLong, doc: labelled("2099-01-01T000000Z"), policy: unbounded},
		{name: "the end in the engine's label has come", want: verify.ReasonExpired, doc: labelled(`"2020-01-01"`), policy: unbounded},
		{name: "an end under a key of one's own", doc: lived("acme.example/until: " + at(week)), policy: ownKey},
		{name: "an end under a key of one's own that is too far", want: verify.ReasonLifetimeTooLong, doc: lived(`acme.example/until: "2099-01-01"`), policy: ownKey},
		{name: "the end under a key of one's own has come", want: verify.ReasonExpired, doc: lived(`acme.example/until: "2020-01-01"` + "\n    polex.dev/expires-at: " + at(week)), policy: ownKey},
		{name: "a key of one's own says no time", want: verify.ReasonBadLifetime, doc: lived("acme.example/until: soon\n    polex.dev/expires-at: " + at(week)), policy: ownKey},
		{name: "an end under a key that the trust policy does not list", want: verify.ReasonNoExpiry, doc: lived("acme.example/until: " + at(week))},
		{name: "grandfathered", doc: lived("a: b"), policy: grandfathered("a: b", nextWeek)},
		{name: "grandfathered until it has come", want: verify.ReasonExpired, doc: lived("a: b"), policy: grandfathered("a: b", nextWeek), after: week},
		{name: "grandfathered for too long", want: verify.ReasonLifetimeTooLong, doc: lived("a: b"), policy: grandfathered("a: b", "2099-01-01")},
		{name: "another one is grandfathered", want: verify.ReasonNoExpiry, doc: lived("a: b"), policy: grandfathered("a: c", nextWeek)},
		{name: "grandfathered, with a duration that nobody resolved", want: verify.ReasonNoExpiry, doc: lived("polex.dev/expires-in: 1h"), policy: grandfathered("polex.dev/expires-in: 1h", nextWeek)},
		{name: "restored after its end", want: verify.ReasonExpired, doc: restored(w.now.Add(week), honest), after: week},
		{name: "restored before its end", doc: restored(w.now.Add(day), honest), after: day},
		{name: "restored, with a duration that nobody resolved", want: verify.ReasonNoExpiry, doc: restored(w.now.Add(-time.Minute), lived("polex.dev/expires-in: 1h")), policy: unbounded},

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
