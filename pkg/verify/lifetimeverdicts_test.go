package verify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// lived signs the draft with other annotations about its lifetime.
func lived(annotations string) maker { return signed(swapped(draft, "%s", annotations)) }

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

func unbounded(c *trust.Config) { c.InsecureAllowUnbounded = true }

func lifetimeVerdicts(w *world) []verdict {
	at := func(d time.Duration) string { return `"` + w.now.Add(d).UTC().Format(time.RFC3339) + `"` }
	anyKind := kinds("*")
	ownKey := func(c *trust.Config) { c.ExpiryKeys = []string{"acme.example/until"} }
	grandfathered := func(annotations, until string) func(*trust.Config) {
		return func(c *trust.Config) {
			doc := orPanic(exception.Parse([]byte(strings.Replace(draft, "%s", annotations, 1)), ""))
			c.Grandfathered = []trust.Grandfather{{Digest: lifetime.ContentDigest(doc), Until: until}}
		}
	}
	nextWeek := w.now.Add(week).UTC().Format(time.RFC3339)
	labelled := func(label string) maker {
		return signed(swapped(swapped(draft, "%s", "a: b"), "    team: payments\n", "    team: payments\n    "+exception.LabelTTL+": "+label+"\n"))
	}
	early := set{at: w.now.Add(-time.Minute)}
	expires := w.now.Add(week).UTC().Truncate(time.Second).Sub(w.now)
	configMap := func(annotations string) maker {
		return signed("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    a: b\n" + annotations)
	}
	natively := func(spec, annotation string) maker {
		return signed(swapped(native+spec, "polex.dev/owner: payments\n", "polex.dev/owner: payments\n"+annotation))
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
		{name: "its end has an hour of one digit", want: verify.ReasonBadLifetime, doc: lived(`polex.dev/expires-at: "2099-01-01T7:00:00Z"`), policy: atMost("")},
		{name: "its end has a comma", want: verify.ReasonBadLifetime, doc: lived(`polex.dev/expires-at: "2099-01-01T07:00:00,5Z"`), policy: atMost("")},
		{name: "its end is 24 hours off", want: verify.ReasonBadLifetime, doc: lived(`polex.dev/expires-at: "2099-01-01T07:00:00+24:00"`), policy: atMost("")},
		{name: "its end is 60 minutes off", want: verify.ReasonBadLifetime, doc: lived(`polex.dev/expires-at: "2099-01-01T07:00:00+23:60"`), policy: atMost("")},
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
		{name: "longer, and no maximum", doc: lived("polex.dev/expires-at: " + at(900*day)), policy: atMost("")},
		{name: "its first signature is too old", want: verify.ReasonLifetimeTooLong, policy: func(c *trust.Config) {
			c.Threshold, c.MaxLifetime = 2, "6d23h59m"
			c.Authorities = append(c.Authorities, w.human("anna"))
		}, doc: forged(set{fulcio: person("anna@acme.example").fulcio, at: w.now.Add(2 * time.Minute)}, set{})},
		{name: "signed twice, too early first", want: verify.ReasonLifetimeTooLong, policy: atMost("7d"), doc: forged(early, set{})},
		{name: "signed twice, too early last", want: verify.ReasonLifetimeTooLong, policy: atMost("7d"), doc: forged(set{}, early)},

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
			return edited(t, natively("  expiresAt: "+at(week)+"\n", "")(t, w), put("2099-01-01T00:00:00Z", "spec", "expiresAt"))
		}},

		{name: "signed tomorrow", want: verify.ReasonSignedInFuture,
			doc: forged(set{at: w.now.Add(day), fulcio: valid(w, -2*time.Minute, 2*day)})},
		{name: "verified by a clock that lags", want: verify.ReasonSignedInFuture, doc: honest, after: -time.Hour},
		{name: "verified by a clock that lags a little", doc: forged(set{}), after: -9 * time.Minute},
		{name: "a stranger signed tomorrow", want: verify.ReasonSignedInFuture,
			doc: forged(set{}, set{at: w.now.Add(day), fulcio: both(byStrangers, valid(w, -2*time.Minute, 2*day))})},
	}
}

// stated signs a draft with a lifetime of a week that states its signing time, relative to the world's time.
func stated(d time.Duration, sets ...set) maker { return statedUntil(d, week, sets...) }

func statedUntil(signed, end time.Duration, sets ...set) maker {
	return func(t *testing.T, w *world) *exception.Document {
		at := func(d time.Duration) string { return w.now.Add(d).UTC().Format(time.RFC3339) }
		says := fmt.Sprintf("%s: %q\n    %s: %q", exception.AnnotationSignedAt, at(signed), exception.AnnotationExpiresAt, at(end))
		return w.sealed(t, swapped(draft, "%s", says), sets...)
	}
}

// signingTimeVerdicts are about evidence that anybody can make later: a new log entry or timestamp
// for an old signature, without the older evidence.
func signingTimeVerdicts(w *world) []verdict {
	const anna = "anna@acme.example"
	key := newKey()
	authority := func(a trust.AuthorityConfig, more ...func(*trust.Config)) func(*trust.Config) {
		return both(append([]func(*trust.Config){onlyBy(a)}, more...)...)
	}
	byKey := trust.AuthorityConfig{Name: "a", Key: publicPEM(key)}
	fulcio := trust.AuthorityConfig{Name: "a", Issuer: w.IssuerURL, Subject: anna}
	limited := func(a trust.AuthorityConfig, longest string) func(*trust.Config) {
		return authority(a, func(c *trust.Config) {
			c.Lifetimes = []trust.LifetimeConfig{{Authorities: []string{a.Name}, Max: longest}}
		})
	}
	free, eightDays := atMost(""), atMost("8d")
	revoked := func(before time.Time) func(*trust.Config) { return both(free, revokedBefore("a", before)) }
	const after, month = 29 * day, 37 * day // the chain of the sandbox is valid for 30 days
	soon, later := func(s set) set { s.at = w.now.Add(time.Minute); return s }, func(s set) set { s.at = w.now.Add(after); return s }
	stamped := func(s set) set { // logged by a version without a time, and stamped later
		s.v2, s.stamps = true, []time.Time{w.now.Add(after)}
		return s
	}
	unlogged := func(s set) set {
		s.onlyV03, s.stamps = true, []time.Time{w.now.Add(after)}
		s.v03 = noEntry
		return s
	}
	keyed := set{key: key, keyed: true}
	yearly := lasting(w, anna, -2*time.Minute, 365*day)
	daily := lasting(w, anna, -2*time.Minute, day-2*time.Minute)
	overADay := lasting(w, anna, -2*time.Minute, day-2*time.Minute+2*time.Second)
	fromNow := lasting(w, anna, -time.Minute, 365*day)
	longFulcio := lasting(w, anna, -2*time.Minute, 100*day)
	const untimed, long, beyond, withdrawn = verify.ReasonNoWitnessedTime, verify.ReasonLifetimeTooLong, verify.ReasonBeyondLimits, verify.ReasonWithdrawn
	return differing(madeAgain, []verdict{
		{name: "time: a key that states when it signed", doc: stated(0, keyed), policy: authority(byKey)},
		{name: "time: a key that does not state when it signed", want: untimed, doc: forged(keyed), policy: authority(byKey)},
		{name: "time: a key that does not, and no maximum", doc: forged(keyed), policy: authority(byKey, free)},
		{name: "time: a key's old signature is logged again", want: untimed, doc: statedless(month, later(keyed)), policy: authority(byKey, eightDays), after: after},
		{name: "time: a key's old signature, which states its time, is logged again", want: long, doc: statedUntil(0, month, later(keyed)), policy: authority(byKey, eightDays), after: after},
		{name: "time: a key's old signature is logged again, for one with a limit", want: beyond, doc: statedless(month, later(keyed)), policy: limited(byKey, "8d"), after: after},
		{name: "time: a key's old signature, which states its time, is logged again, for one with a limit", want: beyond, doc: statedUntil(0, month, later(keyed)), policy: limited(byKey, "8d"), after: after},
		{name: "time: a key within its limit", doc: stated(0, keyed), policy: limited(byKey, "8d")},
		{name: "time: a key states a later time than its log says", want: untimed, doc: stated(time.Hour, keyed), policy: authority(byKey)},
		{name: "time: a key states a time a little later than its log says", doc: stated(5*time.Minute, keyed), policy: authority(byKey)},
		{name: "time: a key states no time", want: verify.ReasonBadLifetime, doc: lived(exception.AnnotationSignedAt + ": yesterday\n    polex.dev/expires-at: \"" + w.now.Add(week).UTC().Format(time.RFC3339) + "\"")},
		{name: "time: a key that is revoked in time, and logged again", want: withdrawn, doc: statedless(month, later(keyed)), policy: authority(byKey, revoked(w.now.Add(day))), after: after},
		{name: "time: a key that is revoked in time states a later one", want: withdrawn, doc: statedUntil(after, month, later(keyed)), policy: authority(byKey, revoked(w.now.Add(day))), after: after},
		{name: "time: a key that is revoked before anything was signed", want: withdrawn, doc: stated(0, keyed), policy: authority(byKey, revoked(w.now.Add(-365*day)))},

		{name: "time: a certificate of a day", doc: forged(daily), policy: authority(fulcio)},
		{name: "time: a certificate of more than a day", want: untimed, doc: forged(overADay), policy: authority(fulcio)},
		{name: "time: a certificate of a year", want: untimed, doc: forged(yearly), policy: authority(fulcio)},
		{name: "time: a certificate of a year, and no maximum", doc: forged(yearly), policy: authority(fulcio, free)},
		{name: "time: a certificate of a year that states when it signed", doc: stated(0, yearly), policy: authority(fulcio)},
		{name: "time: a certificate of a year, logged again", want: untimed, doc: statedless(month, later(yearly)), policy: authority(fulcio, eightDays), after: after},
		{name: "time: a certificate of a year, stamped again", want: untimed, doc: statedless(month, stamped(yearly)), policy: authority(fulcio, eightDays), after: after},
		{name: "time: a certificate of a year, stamped again without a log", want: untimed, root: without("tlogs"), doc: statedless(month, unlogged(yearly)), policy: authority(fulcio, eightDays), after: after},
		{name: "time: a certificate of a year, logged again, for one with a limit", want: beyond, doc: statedless(month, later(yearly)), policy: limited(fulcio, "8d"), after: after},
		{name: "time: a certificate of a year that is revoked in time, and logged again", want: withdrawn, doc: statedless(month, later(yearly)), policy: authority(fulcio, revoked(w.now.Add(day))), after: after},
		{name: "time: a certificate of a year that is revoked in time, and stamped again", want: withdrawn, doc: statedless(month, stamped(yearly)), policy: authority(fulcio, revoked(w.now.Add(day))), after: after},
		{name: "time: a certificate of a year that is revoked in time states a later one", want: withdrawn, doc: statedUntil(after, month, later(yearly)), policy: authority(fulcio, revoked(w.now.Add(day))), after: after},
		{name: "time: a certificate of a year that was issued after the revocation", doc: statedless(month, fromNow), policy: authority(fulcio, revoked(w.now.Add(-2*time.Minute)))},
		{name: "time: a certificate of a day that signed after the revocation", doc: forged(soon(daily)), policy: authority(fulcio, revoked(w.now))},
		{name: "time: a certificate of a day that is stamped again", want: verify.ReasonCertificateNotValid, doc: statedless(month, stamped(daily)), policy: authority(fulcio, revoked(w.now.Add(day))), after: after},

		{name: "time: Fulcio's certificate of a hundred days, logged again", want: untimed, doc: statedless(month, later(longFulcio)), policy: authority(fulcio, eightDays), after: after},
		{name: "time: Fulcio's certificate of a hundred days that is revoked in time, and logged again", want: withdrawn, doc: statedless(month, later(longFulcio)), policy: authority(fulcio, revoked(w.now.Add(day))), after: after},
		{name: "time: a stated time at which no certificate was valid", want: verify.ReasonBadLifetime, doc: statedUntil(-30*day, week, person(anna)), policy: authority(fulcio, eightDays)},
		{name: "time: two signers, and the time of one cannot be told", want: untimed, doc: forged(person(anna), keyed), policy: func(c *trust.Config) {
			other := byKey
			other.Name = "key"
			c.Threshold, c.Authorities = 2, []trust.AuthorityConfig{fulcio, other}
		}},
	})
}

// lasting returns the set of a person whose certificate is valid for a time relative to the world's, as a private
// Fulcio can issue it.
func lasting(w *world, mailbox string, from, to time.Duration) set {
	return set{fulcio: both(person(mailbox).fulcio, valid(w, from, to))}
}

// madeAgain is a cause for another verdict of cosign.
const madeAgain = "a time counts as long as nobody can make the evidence of a later one"

// differing adds the cause of cosign's other verdict to the cases about the signing time.
func differing(why string, list []verdict) []verdict {
	for i := range list {
		if list[i].want == verify.ReasonNoWitnessedTime {
			list[i].differs = why
		}
	}
	return list
}
