package verify_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// stated signs a draft with a lifetime of a week that states its signing time, relative to the
// world's time.
func stated(d time.Duration, sets ...set) maker { return statedUntil(d, week, sets...) }

func statedUntil(signed, end time.Duration, sets ...set) maker {
	return func(t *testing.T, w *world) *exception.Document {
		at := func(d time.Duration) string { return w.now.Add(d).UTC().Format(time.RFC3339) }
		says := fmt.Sprintf("%s: %q\n    %s: %q", exception.AnnotationSignedAt, at(signed), exception.AnnotationExpiresAt, at(end))
		return w.sealed(t, replaced(t, draft, "%s", says), sets...)
	}
}

// signingTimeVerdicts are about evidence that anybody can make later: a new log entry or timestamp
// for an old signature, without the older evidence.
func signingTimeVerdicts(w *world) []verdict {
	const anna = "anna@acme.example"
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	authority := func(a trust.AuthorityConfig, bend ...func(*trust.Config)) func(*trust.Config) {
		return func(c *trust.Config) {
			c.Authorities = []trust.AuthorityConfig{a}
			for _, b := range bend {
				b(c)
			}
		}
	}
	byKey := trust.AuthorityConfig{Name: "a", Key: string(must(cryptoutils.MarshalPublicKeyToPEM(key.Public())))}
	fulcio := trust.AuthorityConfig{Name: "a", Issuer: w.IssuerURL, Subject: anna}
	limited := func(a trust.AuthorityConfig, longest string) func(*trust.Config) {
		return authority(a, func(c *trust.Config) {
			c.Lifetimes = []trust.LifetimeConfig{{Authorities: []string{a.Name}, Max: longest}}
		})
	}
	free := func(c *trust.Config) { c.MaxLifetime = "" }
	revoked := func(before time.Time) func(*trust.Config) {
		return func(c *trust.Config) {
			free(c)
			c.Revoked = []trust.RevocationConfig{{Authority: "a", SignedBefore: before.UTC().Format(time.RFC3339)}}
		}
	}
	const after, month = 29 * day, 37 * day // the chain of the sandbox is valid for 30 days
	soon, later := func(s set) set { s.at = w.now.Add(time.Minute); return s }, func(s set) set { s.at = w.now.Add(after); return s }
	stamped := func(s set) set { // logged by a version without a time, and stamped later
		s.v2, s.stamps = true, []time.Time{w.now.Add(after)}
		return s
	}
	unlogged := func(s set) set {
		s.onlyV03, s.stamps = true, []time.Time{w.now.Add(after)}
		s.v03 = func(b *protobundle.Bundle) { b.VerificationMaterial.TlogEntries = nil }
		return s
	}
	keyed := set{key: key, keyed: true}
	yearly := lasting(w, anna, -2*time.Minute, 365*day)
	daily := lasting(w, anna, -2*time.Minute, day-2*time.Minute)
	overADay := lasting(w, anna, -2*time.Minute, day-2*time.Minute+2*time.Second)
	fromNow := lasting(w, anna, -time.Minute, 365*day)
	longFulcio := lasting(w, anna, -2*time.Minute, 100*day)
	withoutLog := func(root object) { delete(root, "tlogs") }
	const untimed, long, beyond, withdrawn = verify.ReasonNoWitnessedTime, verify.ReasonLifetimeTooLong, verify.ReasonBeyondLimits, verify.ReasonWithdrawn
	return differing(madeAgain, []verdict{
		{name: "time: a key that states when it signed", doc: stated(0, keyed), policy: authority(byKey)},
		{name: "time: a key that does not state when it signed", want: untimed, doc: forged(keyed), policy: authority(byKey)},
		{name: "time: a key that does not, and no maximum", doc: forged(keyed), policy: authority(byKey, free)},
		{name: "time: a key's old signature is logged again", want: untimed, doc: statedless(month, later(keyed)), policy: authority(byKey, func(c *trust.Config) { c.MaxLifetime = "8d" }), after: after},
		{name: "time: a key's old signature, which states its time, is logged again", want: long, doc: statedUntil(0, month, later(keyed)), policy: authority(byKey, func(c *trust.Config) { c.MaxLifetime = "8d" }), after: after},
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
		{name: "time: a certificate of a year, logged again", want: untimed, doc: statedless(month, later(yearly)), policy: authority(fulcio, func(c *trust.Config) { c.MaxLifetime = "8d" }), after: after},
		{name: "time: a certificate of a year, stamped again", want: untimed, doc: statedless(month, stamped(yearly)), policy: authority(fulcio, func(c *trust.Config) { c.MaxLifetime = "8d" }), after: after},
		{name: "time: a certificate of a year, stamped again without a log", want: untimed, root: withoutLog, doc: statedless(month, unlogged(yearly)), policy: authority(fulcio, func(c *trust.Config) { c.MaxLifetime = "8d" }), after: after},
		{name: "time: a certificate of a year, logged again, for one with a limit", want: beyond, doc: statedless(month, later(yearly)), policy: limited(fulcio, "8d"), after: after},
		{name: "time: a certificate of a year that is revoked in time, and logged again", want: withdrawn, doc: statedless(month, later(yearly)), policy: authority(fulcio, revoked(w.now.Add(day))), after: after},
		{name: "time: a certificate of a year that is revoked in time, and stamped again", want: withdrawn, doc: statedless(month, stamped(yearly)), policy: authority(fulcio, revoked(w.now.Add(day))), after: after},
		{name: "time: a certificate of a year that is revoked in time states a later one", want: withdrawn, doc: statedUntil(after, month, later(yearly)), policy: authority(fulcio, revoked(w.now.Add(day))), after: after},
		{name: "time: a certificate of a year that was issued after the revocation", doc: statedless(month, fromNow), policy: authority(fulcio, revoked(w.now.Add(-2*time.Minute)))},
		{name: "time: a certificate of a day that signed after the revocation", doc: forged(soon(daily)), policy: authority(fulcio, revoked(w.now))},
		{name: "time: a certificate of a day that is stamped again", want: verify.ReasonCertificateNotValid, doc: statedless(month, stamped(daily)), policy: authority(fulcio, revoked(w.now.Add(day))), after: after},

		{name: "time: Fulcio's certificate of a hundred days, logged again", want: untimed, doc: statedless(month, later(longFulcio)), policy: authority(fulcio, func(c *trust.Config) { c.MaxLifetime = "8d" }), after: after},
		{name: "time: Fulcio's certificate of a hundred days that is revoked in time, and logged again", want: withdrawn, doc: statedless(month, later(longFulcio)), policy: authority(fulcio, revoked(w.now.Add(day))), after: after},
		{name: "time: a stated time at which no certificate was valid", want: verify.ReasonBadLifetime, doc: statedUntil(-30*day, week, person(anna)), policy: authority(fulcio, func(c *trust.Config) { c.MaxLifetime = "8d" })},
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
	s := person(mailbox)
	named := s.fulcio
	s.fulcio = func(f *sandbox.Forgery) {
		named(f)
		f.Template.NotBefore, f.Template.NotAfter = w.now.Add(from), w.now.Add(to)
	}
	return s
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

// statedless signs a draft that expires relative to the world's time, and does not state its
// signing time.
func statedless(end time.Duration, sets ...set) maker {
	return func(t *testing.T, w *world) *exception.Document { return w.sealed(t, w.until(end), sets...) }
}
