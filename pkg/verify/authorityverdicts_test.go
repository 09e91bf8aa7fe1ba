package verify_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/fulcio/pkg/certificate"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/modcache"
	"github.com/polex-dev/polex/test/must"
)

// withoutEvidence signs with a set and omits its bundles.
func withoutEvidence(s set) maker {
	s.bare = true
	return forged(s)
}

// human is the authority of a person of acme.
func (w *world) human(name string) trust.AuthorityConfig {
	return trust.AuthorityConfig{Name: name, Issuer: w.IssuerURL, Subject: name + "@acme.example"}
}

// person is a set of a person at the sandbox's issuer.
func person(mailbox string) set {
	return set{fulcio: func(f *sandbox.Forgery) { f.Template.URIs, f.Template.EmailAddresses = nil, []string{mailbox} }}
}

// authorityVerdicts are about signers, their number, and keys.
func authorityVerdicts(w *world) []verdict {
	const anna, ben = "anna@acme.example", "ben@acme.example"
	two := func(c *trust.Config) {
		c.Threshold, c.Authorities = 2, []trust.AuthorityConfig{w.human("anna"), w.human("ben")}
	}
	// Both authorities match everybody of acme: the second signer must be another one.
	twoOfAcme := func(c *trust.Config) {
		two(c)
		c.Authorities[0].Subject, c.Authorities[0].SubjectRegexp = "", `\w+@acme\.example`
		c.Authorities[1].Subject, c.Authorities[1].SubjectRegexp = "", `[a-z]+@acme\.example`
	}
	// Threshold 1, and ben's authority matches everybody of acme too.
	either := both(two, func(c *trust.Config) {
		c.Threshold = 1
		c.Authorities[1].Subject, c.Authorities[1].SubjectRegexp = "", `.*@acme.example`
	})
	key := newKey()
	keyed := set{key: key, keyed: true}
	ci := trust.AuthorityConfig{Name: "ci", Key: publicPEM(key)}
	unlimited := both(byKey(key, true), atMost(""))
	and := func(threshold int, more ...trust.AuthorityConfig) func(*trust.Config) {
		return func(c *trust.Config) {
			c.Threshold, c.Authorities = threshold, append(c.Authorities, more...)
		}
	}
	keyAndMerge := and(2, ci)
	withoutLog := without("tlogs")
	digest := revoked(trust.RevocationConfig{
		MessageDigest: sum(orPanic(seal.Message(orPanic(exception.Parse([]byte(w.until(week)), "draft")))))})
	signedCertificate := revoked(trust.RevocationConfig{
		Certificate: sum(orPanic(seal.Read(w.honest)).Signatures[0].Certificate)})
	soon := w.now.Add(time.Minute)
	return []verdict{
		{name: "withdrawn with a keyless certificate", want: verify.ReasonWithdrawn, doc: honest, policy: signedCertificate},
		{name: "two of two", doc: forged(person(anna), person(ben)), policy: two},
		{name: "two of two in the other order", doc: forged(person(ben), person(anna)), policy: two},
		{name: "one of two", want: verify.ReasonTooFewAuthorities, doc: forged(person(anna)), policy: two},
		{name: "one of two and a stranger", want: verify.ReasonTooFewAuthorities, doc: forged(person(anna), person("carl@evil.example")), policy: two},
		{name: "one of two, twice", want: verify.ReasonTooFewAuthorities, doc: forged(person(anna), person(anna)), policy: two},
		{name: "one of two, under two certificates and both names", differs: oneSigner, want: verify.ReasonTooFewAuthorities, doc: forged(person(anna), person(anna)), policy: twoOfAcme},
		{name: "two under two overlapping authorities", doc: forged(person(anna), person(ben)), policy: twoOfAcme},
		{name: "two, of whom the first could be either", doc: forged(person(ben), person(anna)), policy: func(c *trust.Config) {
			two(c)
			c.Authorities[0].Subject, c.Authorities[0].SubjectRegexp, c.Authorities[0].Name = "", `\w+@acme\.example`, "anybody of acme"
			c.Authorities[1].Subject = ben
		}},
		{name: "none of two", want: verify.ReasonWrongIdentity, doc: forged(person("carl@evil.example"), person("dora@evil.example")), policy: two},
		{name: "two of three", doc: forged(person(ben), person(anna)), policy: both(two, and(2, w.human("carl")))},

		{name: "a key and its log entry", doc: stated(0, keyed), policy: byKey(key, false)},
		{name: "a key and cosign's bundle", doc: stated(0, set{key: key, keyed: true, onlyOld: true}), policy: byKey(key, false)},
		{name: "a key and the Sigstore bundle", doc: stated(0, set{key: key, keyed: true, onlyV03: true}), policy: byKey(key, false)},
		{name: "a key and no log entry", want: verify.ReasonNoLogEntry, doc: withoutEvidence(keyed), policy: byKey(key, false)},
		{name: "a key that needs no log entry", doc: withoutEvidence(keyed), policy: unlimited},
		{name: "a key that needs no log entry, and no log", doc: withoutEvidence(keyed), policy: unlimited, root: withoutLog},
		{name: "a key whose lifetime nobody witnessed", differs: witnessed, want: verify.ReasonNoWitnessedTime, doc: withoutEvidence(keyed), policy: byKey(key, true)},
		{name: "a key that needs no log entry, and a false one", differs: everyEntry, want: verify.ReasonUnprovenLogEntry,
			policy: unlimited, doc: forged(set{key: key, keyed: true, onlyV03: true, v03: otherRoot})},
		{name: "a key and an entry of a log that the root does not name", differs: everyEntry, want: verify.ReasonUnprovenLogEntry, doc: forged(keyed), policy: unlimited, root: withoutLog},
		{name: "a key that nobody knows", want: verify.ReasonUnknownKey, doc: forged(set{keyed: true}), policy: byKey(key, false)},
		{name: "a key that nobody knows and no log entry", want: verify.ReasonUnknownKey, doc: withoutEvidence(set{keyed: true}), policy: byKey(key, true)},
		{name: "a key where an identity is asked for", want: verify.ReasonUnknownKey, doc: forged(set{keyed: true})},
		{name: "an identity where a key is asked for", want: verify.ReasonWrongIdentity, doc: honest, policy: byKey(key, false)},
		{name: "the entry is about another key", want: verify.ReasonLogEntryMismatch, doc: entryOfKey(keyed, newKey()), policy: byKey(key, false)},
		{name: "a key and a bundle with a chain", want: verify.ReasonMalformedSignature, policy: byKey(key, false),
			doc: forged(set{key: key, keyed: true, onlyV03: true, v03: chained()})},
		{name: "a key and an identity", doc: stated(0, set{}, keyed), policy: keyAndMerge},
		{name: "a key and an identity, the identity missing", want: verify.ReasonTooFewAuthorities, doc: forged(keyed), policy: keyAndMerge},
		{name: "a key's signature beside a certificate of its own for both", want: verify.ReasonUntrustedCertificate, policy: keyAndMerge,
			doc: forged(set{key: key, selfSigned: asFulcio})},
		{name: "the same beside a good one by the key", want: verify.ReasonUntrustedCertificate, policy: keyAndMerge,
			doc: forged(keyed, set{key: key, selfSigned: asFulcio})},
		{name: "Fulcio certifies the policy's own key", want: verify.ReasonTooFewAuthorities, doc: forged(set{key: key}), policy: keyAndMerge},
		{name: "one key under two names", differs: oneSigner, want: verify.ReasonTooFewAuthorities, doc: forged(keyed, keyed),
			policy: and(2, ci, trust.AuthorityConfig{Name: "also ci", Key: ci.Key})},

		{name: "withdrawn by its digest", want: verify.ReasonWithdrawn, doc: forged(set{}), policy: digest},
		{name: "another digest withdrawn", doc: honest, policy: digest},
		{name: "withdrawn with its authority", want: verify.ReasonWithdrawn, doc: honest, policy: revokedBefore("merge", soon)},
		{name: "its authority withdrawn until it signed", doc: forged(set{at: soon}), policy: revokedBefore("merge", soon)},
		{name: "one of two authorities withdrawn", want: verify.ReasonWithdrawn, doc: forged(person(anna), person(ben)),
			policy: both(two, revokedBefore("ben", soon))},
		{name: "another authority withdrawn", doc: forged(person(anna)),
			policy: both(two, and(1), revokedBefore("ben", soon))},
		{name: "withdrawn under one of its signer's two names", want: verify.ReasonWithdrawn, doc: forged(person(anna)),
			policy: both(either, revokedBefore("ben", soon))},
		{name: "withdrawn under the other of its signer's two names", want: verify.ReasonWithdrawn, doc: forged(person(anna)),
			policy: both(either, revokedBefore("anna", soon))},
		{name: "a withdrawn key that nobody witnessed", want: verify.ReasonWithdrawn, doc: withoutEvidence(keyed),
			policy: both(unlimited, revokedBefore("ci", w.now.Add(-365*day)))},
	}
}

// TestWhoSigned: a result has every signature, and the authority that it counts for.
func TestWhoSigned(t *testing.T) {
	w := inWorld(t)
	verified := must.Get(w.verifier(t, nil, nil).Verify(forged(set{fulcio: byStrangers}, set{}, set{})(t, w), w.now))(t)
	var got []string
	for _, s := range verified.Signatures() {
		got = append(got, s.Authority)
		expect.That(t, s.LogURL == w.RekorURL && s.LogIndex >= 0 && s.WitnessedAt.Equal(w.now.Truncate(time.Second)),
			"logged at %s, %d, %s", s.LogURL, s.LogIndex, s.WitnessedAt)
		if s.Identity.Issuer != w.IssuerURL || s.Identity.Type != "uri" || s.Identity.Claims["sourceRepositoryRef"] != "refs/heads/main" {
			t.Errorf("identity %+v", s.Identity)
		}
	}
	expect.Equal(t, "authorities", []string{"", "merge", ""}, got)
	if want := w.now.Add(week).UTC().Truncate(time.Second); !verified.ExpiresAt().Equal(want) || !verified.StartsAt().IsZero() {
		t.Errorf("lives from %s to %s, want until %s", verified.StartsAt(), verified.ExpiresAt(), want)
	}
}

// TestIdentityOf reads the identity in a certificate.
func TestIdentityOf(t *testing.T) {
	w := inWorld(t)
	key := newKey()
	der := must.Get(w.ForgeCertificate(t.Context(), w.forgery(t, key, func(e *certificate.Extensions) {
		*e = certificate.Extensions{Issuer: w.IssuerURL, BuildTrigger: "push"}
	})))(t)
	cert := must.Get(x509.ParseCertificate(der))(t)
	got := must.Get(verify.IdentityOf(cert))(t)
	want := trust.Identity{Issuer: w.IssuerURL, Subject: subject, Type: "uri", Claims: map[string]string{"buildTrigger": "push"}}
	expect.Equal(t, "identity", want, got)
	for _, ext := range cert.Extensions {
		twice := *cert
		twice.Extensions = slices.Concat(cert.Extensions, []pkix.Extension{ext})
		id, err := verify.IdentityOf(&twice)
		expect.That(t, err != nil, "the extension %s twice: %+v", ext.Id, id)
	}
}

// TestManyMismatches: the rejection of a stranger names three authorities.
func TestManyMismatches(t *testing.T) {
	w := inWorld(t)
	policy := func(c *trust.Config) {
		for i := range 5 {
			a := c.Authorities[0]
			a.Name, a.Subject = fmt.Sprint("a", i), fmt.Sprint("https://example.com/", i)
			c.Authorities = append(c.Authorities, a)
		}
		c.Authorities = c.Authorities[1:]
	}
	_, err := w.verifier(t, policy, nil).Verify(w.honest, w.now)
	expect.Error(t, err, "; and more [wrong-identity]")
	expect.Is(t, "signers named", 3, strings.Count(err.Error(), "does not match"))
}

func revokedBefore(authority string, at time.Time) func(*trust.Config) {
	return revoked(trust.RevocationConfig{Authority: authority, SignedBefore: at.UTC().Format(time.RFC3339)})
}

func sameStrings(t *testing.T, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	expect.Equal(t, "result", want, got)
}

// reasonIn returns the reason of a rejection, or "" without one.
func reasonIn(t testing.TB, err error) string {
	t.Helper()
	rejected := new(verify.Rejected)
	if err != nil && !errors.As(err, &rejected) {
		t.Fatal(err)
	}
	return rejected.Reason
}

// keyVerdicts are about signers with several keys, certificates and names. The corpus has none of them.
func keyVerdicts(t *testing.T, w *world) []verdict {
	const few, untimed, withdrawn = verify.ReasonTooFewAuthorities, verify.ReasonNoWitnessedTime, verify.ReasonWithdrawn
	const annas, bens = "anna@acme.example", "ben@acme.example"
	key, other := newKey(), newKey()
	keyed, public := set{key: key, keyed: true}, publicPEM(key)
	named := func(name, public string) trust.AuthorityConfig { return trust.AuthorityConfig{Name: name, Key: public} }
	hsm, token := named("hsm", public), named("token", publicPEM(other))
	anna, ben := w.human("anna"), w.human("ben")
	by := func(s set) set { s.key = key; return s }
	two := func(authorities ...trust.AuthorityConfig) func(*trust.Config) {
		return both(onlyBy(authorities...), func(c *trust.Config) { c.Threshold = 2 })
	}
	twoOf := func(a, b trust.AuthorityConfig) func(*trust.Config) { return both(two(a, b), atMost("")) }
	chain := chained(&protocommon.X509Certificate{RawBytes: w.selfIssue(t, key, asFulcio)})

	// An old signature with a newer certificate for the same key and a new log entry is valid no longer than before.
	original := by(lasting(w, annas, -2*time.Minute, 365*day))
	first := statedUntil(0, 60*day, original)(t, w)
	renewed := func(from, to time.Duration, more ...set) maker {
		s := by(lasting(w, annas, from, to))
		s.signature, s.at = readSeal(t, first).Signatures[0].Signature, w.now.Add(29*day)
		return statedUntil(0, 60*day, append([]set{s}, more...)...)
	}
	again := func(name, want string, doc maker, more ...func(*trust.Config)) verdict {
		policy := both(atMost(""), onlyBy(anna), both(more...))
		return verdict{name: name, want: want, doc: doc, policy: policy, after: 30 * day}
	}
	twoHours := renewed(29*day-time.Hour, 29*day+time.Hour)
	late := revokedBefore("anna", w.now.Add(20*day))

	// If the signing time of one authority is unknown, so is that of the document, in any order.
	long := lasting(w, annas, -2*time.Minute, 60*day)

	// A revoked signature of an authority is rejected, even if the document is beyond its limits and counts for another
	// authority with the same key.
	limit := func(longest string) func(*trust.Config) {
		return both(atMost(""), onlyBy(named("a", public), named("b", public)),
			revokedBefore("a", w.now.Add(day)),
			func(c *trust.Config) {
				c.Lifetimes = []trust.LifetimeConfig{{Authorities: []string{"a"}, Max: longest}}
			})
	}
	// The fingerprint of a certificate revokes the signatures with it, and none with another certificate for its key.
	certified := []*exception.Document{w.sealed(t, w.until(week), set{key: key}), w.sealed(t, w.until(week), set{key: key})}
	fingerprint := revoked(trust.RevocationConfig{Certificate: sum(readSeal(t, certified[0]).Signatures[0].Certificate)})
	as := func(doc *exception.Document) maker {
		return func(*testing.T, *world) *exception.Document { return doc }
	}
	return []verdict{
		again("renewed: the first certificate, revoked", withdrawn, as(first), late),
		again("renewed: a certificate", verify.ReasonBadLifetime, renewed(28*day, 393*day), late),
		again("renewed: a certificate of two hours", verify.ReasonBadLifetime, twoHours, late),
		again("renewed: a certificate of two years", withdrawn, renewed(-2*time.Minute, 700*day), late),
		again("renewed: a certificate of two hours, without any rule", verify.ReasonBadLifetime, twoHours),
		again("renewed: a certificate of two hours, and a stranger's of then", verify.ReasonBadLifetime,
			renewed(29*day-time.Hour, 29*day+time.Hour, person("eve@example.com"))),
		again("renewed: a certificate of two hours, beyond a lifetime", verify.ReasonBadLifetime, twoHours, atMost("40d")),

		// One signature with two certificates for its key, or with the key itself, does not make two signers.
		{name: "one key: a key and a certificate", want: few, doc: forged(keyed, by(person(annas))), policy: twoOf(hsm, anna)},
		{name: "one key: two certificates", want: few, doc: forged(by(person(annas)), by(person(bens))), policy: twoOf(anna, ben)},
		{name: "two keys: public ones", doc: forged(keyed, set{key: other, keyed: true}), policy: twoOf(hsm, token)},
		{name: "two keys: of certificates", doc: forged(person(annas), person(bens)), policy: twoOf(anna, ben)},

		{name: "unknown time: of the first signer", want: untimed, doc: forged(long, person(bens)), policy: two(anna, ben)},
		{name: "unknown time: of the last signer", want: untimed, doc: forged(person(bens), long), policy: two(anna, ben)},
		{name: "revoked within its limits", want: withdrawn, doc: stated(0, keyed), policy: limit("90d")},
		{name: "revoked beyond its limits", want: withdrawn, doc: stated(0, keyed), policy: limit("1h")},
		{name: "revoked: its certificate", want: withdrawn, doc: as(certified[0]), policy: fingerprint},
		{name: "revoked: another certificate for its key", doc: as(certified[1]), policy: fingerprint},
		{name: "a chain of certificates beside a key", want: verify.ReasonMalformedSignature, policy: byKey(key, false),
			detail: "holds a chain of certificates", doc: forged(set{key: key, keyed: true, onlyV03: true, v03: chain})},
	}
}

// peerSample reads a file of k8s-manifest-sigstore's own tests from its module. Two people signed
// it with the public-good Sigstore in 2022.
func peerSample(t testing.TB) *exception.Document {
	t.Helper()
	const sample = "pkg/k8smanifest/testdata/sample-configmap-keyless-multi-signed.yaml"
	raw := modcache.Read(t, modcache.KubectlSigstore, sample)
	return parse(t, string(raw))
}

func twoSigners() trust.Config {
	return trust.Config{
		Threshold: 2, Kinds: []string{"ConfigMap"},
		Authorities: []trust.AuthorityConfig{
			{Name: "ibm", Issuer: "https://github.com/login/oauth", Subject: "hirokuni.kitahara1@ibm.com"},
			{Name: "redhat", Issuer: "https://accounts.google.com", Subject: "hkitahar@redhat.com"},
		},
	}
}

var sampleNow = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestTwoSignersOf2022(t *testing.T) {
	sample := peerSample(t)
	const prefix = "cosign.sigstore.dev/"
	swap := func(a, b string) func(object) {
		return func(root object) {
			m := dig(t, root, "metadata", "annotations")
			m[prefix+a], m[prefix+b] = m[prefix+b], m[prefix+a]
		}
	}
	remove := func(part string) func(object) {
		return func(root object) { delete(dig(t, root, "metadata", "annotations"), prefix+part) }
	}
	for _, tc := range []struct {
		name   string
		policy func(*trust.Config)
		edit   func(object)
		after  time.Duration // time of the verification, after sampleNow
		want   string
	}{
		{name: "as it is"},
		{name: "one is enough", policy: func(c *trust.Config) { c.Threshold = 1 }},
		{name: "both sets exchanged whole",
			edit: both(swap("signature", "signature_1"), swap("certificate", "certificate_1"), swap("bundle", "bundle_1"))},
		{name: "one signer missing", want: verify.ReasonTooFewAuthorities,
			edit: both(remove("signature_1"), remove("certificate_1"), remove("bundle_1"))},
		{name: "three asked for", want: verify.ReasonTooFewAuthorities, policy: func(c *trust.Config) {
			c.Threshold = 3
			c.Authorities = append(c.Authorities, trust.AuthorityConfig{Name: "third", Issuer: "https://accounts.google.com", Subject: "anna@acme.example"})
		}},
		{name: "the issuers exchanged", want: verify.ReasonWrongIdentity, policy: func(c *trust.Config) {
			c.Authorities[0].Issuer, c.Authorities[1].Issuer = c.Authorities[1].Issuer, c.Authorities[0].Issuer
		}},
		{name: "another case of a subject", want: verify.ReasonTooFewAuthorities, policy: func(c *trust.Config) { c.Authorities[1].Subject = "Hkitahar@redhat.com" }},
		{name: "a kind that the policy does not speak of", want: verify.ReasonKindNotAllowed, policy: kinds()},
		{name: "the kind in another group", want: verify.ReasonKindNotAllowed, policy: kinds("ConfigMap.evil.example")},
		{name: "a value changed", edit: put("val2", "data", "key1"), want: verify.ReasonAltered},
		{name: "a value added", edit: put("val5", "data", "key5"), want: verify.ReasonAltered},
		{name: "a value of another type", edit: put(int64(1), "data", "key1"), want: verify.ReasonAltered},
		{name: "the signatures exchanged", edit: swap("signature", "signature_1"), want: verify.ReasonLogEntryMismatch},
		{name: "the certificates exchanged", edit: swap("certificate", "certificate_1"), want: verify.ReasonLogEntryMismatch},
		{name: "the bundles exchanged", edit: swap("bundle", "bundle_1"), want: verify.ReasonLogEntryMismatch},
		{name: "a bundle missing", edit: remove("bundle_1"), want: verify.ReasonNoLogEntry},
		{name: "a certificate missing", edit: remove("certificate"), want: verify.ReasonUnknownKey},
		{name: "the first signature missing", edit: remove("signature"), want: verify.ReasonMalformedSignature},
		{name: "before they signed", after: -5 * 365 * day, want: verify.ReasonSignedInFuture},
		{name: "one signer withdrawn", want: verify.ReasonWithdrawn,
			policy: revokedBefore("redhat", sampleNow.AddDate(-1, 0, 0))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			doc := sample
			if tc.edit != nil {
				doc = edited(t, doc, tc.edit)
			}
			config := twoSigners()
			if tc.policy != nil {
				tc.policy(&config)
			}
			v := must.Get(verify.New(must.Get(trust.Load(config))(t)))(t)
			judge(t, v, doc, sampleNow.Add(tc.after), tc.want)
		})
	}
}
