package verify_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/fulcio/pkg/certificate"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// withoutEvidence signs with a set and omits its bundles.
func withoutEvidence(s set) maker {
	return func(t *testing.T, w *world) *exception.Document {
		doc := parse(t, w.until(week))
		message := must.Get(seal.Message(doc))(t)
		made := w.sign(t, message, s)
		made.Bundle, made.BundleV03 = nil, nil
		return attach(t, doc, &seal.Seal{Message: message, Signatures: []seal.Signature{made}})
	}
}

// person is a set of a person at the sandbox's issuer.
func person(mailbox string) set {
	return set{fulcio: func(f *sandbox.Forgery) { f.Template.URIs, f.Template.EmailAddresses = nil, []string{mailbox} }}
}

// authorityVerdicts are about signers, their number, and keys.
func authorityVerdicts(w *world) []verdict {
	const anna, ben = "anna@acme.example", "ben@acme.example"
	two := func(c *trust.Config) {
		c.Threshold = 2
		c.Authorities = []trust.AuthorityConfig{
			{Name: "anna", Issuer: w.IssuerURL, Subject: anna},
			{Name: "ben", Issuer: w.IssuerURL, Subject: ben},
		}
	}
	// Both authorities match everybody of acme: the second signer must be another one.
	twoOfAcme := func(c *trust.Config) {
		two(c)
		c.Authorities[0].Subject, c.Authorities[0].SubjectRegexp = "", `\w+@acme\.example`
		c.Authorities[1].Subject, c.Authorities[1].SubjectRegexp = "", `[a-z]+@acme\.example`
	}
	key := orPanic(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	keyPEM := string(orPanic(cryptoutils.MarshalPublicKeyToPEM(key.Public())))
	keyed := func(withoutLog bool) func(*trust.Config) {
		return func(c *trust.Config) {
			c.Authorities = []trust.AuthorityConfig{{Name: "ci", Key: keyPEM, InsecureWithoutLog: withoutLog}}
		}
	}
	unlimited := func(c *trust.Config) {
		keyed(true)(c)
		c.MaxLifetime = ""
	}
	keyAndMerge := func(c *trust.Config) {
		c.Threshold = 2
		c.Authorities = append(c.Authorities, trust.AuthorityConfig{Name: "ci", Key: keyPEM})
	}
	withoutLog := func(root object) { delete(root, "tlogs") }
	digestOf := func(c *trust.Config) {
		sum := sha256.Sum256(orPanic(seal.Message(orPanic(exception.Parse([]byte(w.until(week)), "draft")))))
		c.Revoked = []trust.RevocationConfig{{MessageDigest: "sha256:" + hex.EncodeToString(sum[:])}}
	}
	revoked := func(name string, before time.Time) func(*trust.Config) {
		return func(c *trust.Config) {
			c.Revoked = []trust.RevocationConfig{{Authority: name, SignedBefore: before.UTC().Format(time.RFC3339)}}
		}
	}
	signedCertificate := func(c *trust.Config) {
		sum := sha256.Sum256(orPanic(seal.Read(w.honest)).Signatures[0].Certificate)
		c.Revoked = []trust.RevocationConfig{{Certificate: "sha256:" + hex.EncodeToString(sum[:])}}
	}
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
		{name: "two of three", doc: forged(person(ben), person(anna)), policy: func(c *trust.Config) {
			two(c)
			c.Authorities = append(c.Authorities, trust.AuthorityConfig{Name: "carl", Issuer: w.IssuerURL, Subject: "carl@acme.example"})
		}},

		{name: "a key and its log entry", doc: stated(0, set{key: key, keyed: true}), policy: keyed(false)},
		{name: "a key and cosign's bundle", doc: stated(0, set{key: key, keyed: true, onlyOld: true}), policy: keyed(false)},
		{name: "a key and the Sigstore bundle", doc: stated(0, set{key: key, keyed: true, onlyV03: true}), policy: keyed(false)},
		{name: "a key and no log entry", want: verify.ReasonNoLogEntry, doc: withoutEvidence(set{key: key, keyed: true}), policy: keyed(false)},
		{name: "a key that needs no log entry", doc: withoutEvidence(set{key: key, keyed: true}), policy: unlimited},
		{name: "a key that needs no log entry, and no log", doc: withoutEvidence(set{key: key, keyed: true}), policy: unlimited, root: withoutLog},
		{name: "a key whose lifetime nobody witnessed", differs: witnessed, want: verify.ReasonNoWitnessedTime, doc: withoutEvidence(set{key: key, keyed: true}), policy: keyed(true)},
		{name: "a key that needs no log entry, and a false one", differs: everyEntry, want: verify.ReasonUnprovenLogEntry,
			doc:    forged(set{key: key, keyed: true, onlyV03: true, v03: func(b *protobundle.Bundle) { entry(b).InclusionProof.RootHash[0] ^= 1 }}),
			policy: unlimited},
		{name: "a key and an entry of a log that the root does not name", differs: everyEntry, want: verify.ReasonUnprovenLogEntry, doc: forged(set{key: key, keyed: true}), policy: unlimited, root: withoutLog},
		{name: "a key that nobody knows", want: verify.ReasonUnknownKey, doc: forged(set{keyed: true}), policy: keyed(false)},
		{name: "a key that nobody knows and no log entry", want: verify.ReasonUnknownKey, doc: withoutEvidence(set{keyed: true}), policy: keyed(true)},
		{name: "a key where an identity is asked for", want: verify.ReasonUnknownKey, doc: forged(set{keyed: true})},
		{name: "an identity where a key is asked for", want: verify.ReasonWrongIdentity, doc: honest, policy: keyed(false)},
		{name: "the entry is about another key", want: verify.ReasonLogEntryMismatch, doc: entryOfAnotherKey(key), policy: keyed(false)},
		{name: "a key and a bundle with a chain", want: verify.ReasonMalformedSignature, policy: keyed(false), doc: forged(set{key: key, keyed: true, onlyV03: true, v03: func(b *protobundle.Bundle) {
			b.VerificationMaterial.Content = &protobundle.VerificationMaterial_X509CertificateChain{X509CertificateChain: &protocommon.X509CertificateChain{}}
		}})},
		{name: "a key and an identity", doc: stated(0, set{}, set{key: key, keyed: true}), policy: keyAndMerge},
		{name: "a key and an identity, the identity missing", want: verify.ReasonTooFewAuthorities, doc: forged(set{key: key, keyed: true}), policy: keyAndMerge},
		{name: "a key's signature beside a certificate of its own for both", want: verify.ReasonUntrustedCertificate, policy: keyAndMerge,
			doc: func(t *testing.T, w *world) *exception.Document {
				return w.sealed(t, w.until(week), set{key: key, certificate: w.selfIssue(t, nil)})
			}},
		{name: "the same beside a good one by the key", want: verify.ReasonUntrustedCertificate, policy: keyAndMerge,
			doc: func(t *testing.T, w *world) *exception.Document {
				return w.sealed(t, w.until(week), set{key: key, keyed: true}, set{key: key, certificate: w.selfIssue(t, nil)})
			}},
		{name: "Fulcio certifies the policy's own key", want: verify.ReasonTooFewAuthorities, doc: forged(set{key: key}), policy: keyAndMerge},
		{name: "one key under two names", differs: oneSigner, want: verify.ReasonTooFewAuthorities, doc: forged(set{key: key, keyed: true}, set{key: key, keyed: true}), policy: func(c *trust.Config) {
			c.Threshold = 2
			c.Authorities = append(c.Authorities, trust.AuthorityConfig{Name: "ci", Key: keyPEM}, trust.AuthorityConfig{Name: "also ci", Key: keyPEM})
		}},

		{name: "withdrawn by its digest", want: verify.ReasonWithdrawn, doc: forged(set{}), policy: digestOf},
		{name: "another digest withdrawn", doc: honest, policy: digestOf},
		{name: "withdrawn with its authority", want: verify.ReasonWithdrawn, doc: honest, policy: revoked("merge", w.now.Add(time.Minute))},
		{name: "its authority withdrawn until it signed", doc: forged(set{at: w.now.Add(time.Minute)}), policy: revoked("merge", w.now.Add(time.Minute))},
		{name: "one of two authorities withdrawn", want: verify.ReasonWithdrawn, doc: forged(person(anna), person(ben)), policy: func(c *trust.Config) {
			two(c)
			revoked("ben", w.now.Add(time.Minute))(c)
		}},
		{name: "another authority withdrawn", doc: forged(person(anna)), policy: func(c *trust.Config) {
			two(c)
			c.Threshold = 1
			revoked("ben", w.now.Add(time.Minute))(c)
		}},
		{name: "withdrawn under one of its signer's two names", want: verify.ReasonWithdrawn, doc: forged(person(anna)), policy: func(c *trust.Config) {
			two(c)
			c.Threshold = 1
			c.Authorities[1].Subject, c.Authorities[1].SubjectRegexp = "", `.*@acme.example`
			revoked("ben", w.now.Add(time.Minute))(c)
		}},
		{name: "withdrawn under the other of its signer's two names", want: verify.ReasonWithdrawn, doc: forged(person(anna)), policy: func(c *trust.Config) {
			two(c)
			c.Threshold = 1
			c.Authorities[1].Subject, c.Authorities[1].SubjectRegexp = "", `.*@acme.example`
			revoked("anna", w.now.Add(time.Minute))(c)
		}},
		{name: "a withdrawn key that nobody witnessed", want: verify.ReasonWithdrawn, doc: withoutEvidence(set{key: key, keyed: true}), policy: func(c *trust.Config) {
			unlimited(c)
			revoked("ci", w.now.Add(-365*day))(c)
		}},
	}
}

func entryOfAnotherKey(key *ecdsa.PrivateKey) maker {
	return func(t *testing.T, w *world) *exception.Document {
		return w.sealed(t, w.until(week), set{key: key, keyed: true, body: func(b *hashedRekord) {
			b.Spec.Signature.PublicKey.Content = base64.StdEncoding.EncodeToString(signerPEM(t, newKey(t), nil))
		}})
	}
}

// TestWhoSigned: a result has every signature, and the authority that it counts for.
func TestWhoSigned(t *testing.T) {
	w := inWorld(t)
	stranger := set{fulcio: func(f *sandbox.Forgery) { f.Template.URIs[0].Host = "stranger.invalid" }}
	verified := must.Get(w.verifier(t, nil, nil).Verify(forged(stranger, set{}, set{})(t, w), w.now))(t)
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
	key := newKey(t)
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

// TestShortCheckpoint: a checkpoint without its lines is rejected, also where no log verified it before.
func TestShortCheckpoint(t *testing.T) {
	w := inWorld(t)
	doc := w.sealed(t, w.until(week), set{v2: true, stamps: []time.Time{w.now}, v03: func(b *protobundle.Bundle) {
		entry(b).InclusionProof.Checkpoint.Envelope = "rekor.example\n1"
	}})
	judge(t, w.verifier(t, nil, without("tlogs")), doc, w.now, verify.ReasonUnprovenLogEntry)
}

// TestChainBesideAKey: a bundle v0.3 of a signature by a key holds no chain of certificates.
func TestChainBesideAKey(t *testing.T) {
	w := inWorld(t)
	key := newKey(t)
	doc := w.sealed(t, w.until(week), set{key: key, keyed: true, onlyV03: true, v03: func(b *protobundle.Bundle) {
		b.VerificationMaterial.Content = &protobundle.VerificationMaterial_X509CertificateChain{X509CertificateChain: &protocommon.X509CertificateChain{
			Certificates: []*protocommon.X509Certificate{{RawBytes: w.selfIssue(t, nil)(key)}}}}
	}})
	policy := func(c *trust.Config) {
		c.Authorities = []trust.AuthorityConfig{{Name: "ci", Key: string(orPanic(cryptoutils.MarshalPublicKeyToPEM(key.Public())))}}
	}
	expect.Failure(w.verifier(t, policy, nil).Verify(doc, w.now))(t, "holds a chain of certificates")
}

func sameStrings(t *testing.T, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	expect.Equal(t, "result", want, got)
}
