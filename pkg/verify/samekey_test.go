package verify_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/modcache"
	"github.com/polex-dev/polex/test/must"
)

func reasonOf(t *testing.T, w *world, doc *exception.Document, policy func(*trust.Config), now time.Time) string {
	t.Helper()
	_, err := w.verifier(t, policy, nil).Verify(doc, now)
	return reasonIn(t, err)
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

// TestAnotherCertificateForTheKey: an old signature with a newer certificate for the same key and a
// new log entry is valid no longer than before.
func TestAnotherCertificateForTheKey(t *testing.T) {
	w := inWorld(t)
	const anna = "anna@acme.example"
	key := newKey(t)
	issued := func(from, to time.Duration) set {
		s := lasting(w, anna, from, to)
		s.key = key
		return s
	}
	at := func(d time.Duration) string { return w.now.Add(d).UTC().Format(time.RFC3339) }
	yaml := replaced(t, draft, "%s", exception.AnnotationSignedAt+": \""+at(0)+"\"\n    "+exception.AnnotationExpiresAt+": \""+at(60*day)+"\"")
	first := w.sealed(t, yaml, issued(-2*time.Minute, 365*day))
	signature := orPanic(seal.Read(first)).Signatures[0].Signature
	again := func(from, to time.Duration, more ...set) *exception.Document {
		s := issued(from, to)
		s.signature, s.at = signature, w.now.Add(29*day)
		return w.sealed(t, yaml, append([]set{s}, more...)...)
	}
	kept := func(*trust.Config) {}
	revoked := func(c *trust.Config) {
		c.Revoked = []trust.RevocationConfig{{Authority: "a", SignedBefore: at(20 * day)}}
	}
	longest := func(c *trust.Config) { c.MaxLifetime = "40d" }
	for _, tc := range []struct {
		name  string
		doc   *exception.Document
		bend  func(*trust.Config)
		wants string
	}{
		{"the first certificate, revoked", first, revoked, verify.ReasonWithdrawn},
		{"a renewed certificate", again(28*day, 393*day), revoked, verify.ReasonBadLifetime},
		{"a certificate of two hours", again(29*day-time.Hour, 29*day+time.Hour), revoked, verify.ReasonBadLifetime},
		{"a certificate of two years", again(-2*time.Minute, 700*day), revoked, verify.ReasonWithdrawn},
		{"a certificate of two hours, without any rule", again(29*day-time.Hour, 29*day+time.Hour), kept, verify.ReasonBadLifetime},
		{"a certificate of two hours, and a stranger's of then", again(29*day-time.Hour, 29*day+time.Hour, person("eve@example.com")), kept, verify.ReasonBadLifetime},
		{"a certificate of two hours, beyond a lifetime", again(29*day-time.Hour, 29*day+time.Hour), longest, verify.ReasonBadLifetime},
	} {
		got := reasonOf(t, w, tc.doc, func(c *trust.Config) {
			c.MaxLifetime, c.Authorities = "", []trust.AuthorityConfig{{Name: "a", Issuer: w.IssuerURL, Subject: anna}}
			tc.bend(c)
		}, w.now.Add(30*day))
		expect.Is(t, tc.name, tc.wants, got)
	}
}

// TestOneKeyIsOneSigner: one signature with two certificates for its key, or with the key itself,
// does not make two signers.
func TestOneKeyIsOneSigner(t *testing.T) {
	w := inWorld(t)
	key := newKey(t)
	by := func(s set) set { s.key = key; return s }
	hsm := trust.AuthorityConfig{Name: "hsm", Key: string(orPanic(cryptoutils.MarshalPublicKeyToPEM(key.Public())))}
	other := newKey(t)
	token := trust.AuthorityConfig{Name: "token", Key: string(orPanic(cryptoutils.MarshalPublicKeyToPEM(other.Public())))}
	anna := trust.AuthorityConfig{Name: "anna", Issuer: w.IssuerURL, Subject: "anna@acme.example"}
	ben := trust.AuthorityConfig{Name: "ben", Issuer: w.IssuerURL, Subject: "ben@acme.example"}
	for name, tc := range map[string]struct {
		authorities []trust.AuthorityConfig
		sets        []set
		want        string
	}{
		"a key and a certificate": {[]trust.AuthorityConfig{hsm, anna}, []set{by(set{keyed: true}), by(person("anna@acme.example"))}, verify.ReasonTooFewAuthorities},
		"two certificates":        {[]trust.AuthorityConfig{anna, ben}, []set{by(person("anna@acme.example")), by(person("ben@acme.example"))}, verify.ReasonTooFewAuthorities},
		"two public keys":         {[]trust.AuthorityConfig{hsm, token}, []set{by(set{keyed: true}), {key: other, keyed: true}}, ""},
		"two keys":                {[]trust.AuthorityConfig{anna, ben}, []set{person("anna@acme.example"), person("ben@acme.example")}, ""},
	} {
		got := reasonOf(t, w, w.sealed(t, w.until(week), tc.sets...), func(c *trust.Config) { c.MaxLifetime, c.Threshold, c.Authorities = "", 2, tc.authorities }, w.now)
		expect.Is(t, name, tc.want, got)
	}
}

// TestOneTimeIsUnknown: if the signing time of one authority is unknown, so is that of the document, in any order.
func TestOneTimeIsUnknown(t *testing.T) {
	w := inWorld(t)
	long := person("anna@acme.example")
	named := long.fulcio
	long.fulcio = func(f *sandbox.Forgery) {
		named(f)
		f.Template.NotAfter = f.Template.NotBefore.Add(60 * day)
	}
	for _, sets := range [][]set{{long, person("ben@acme.example")}, {person("ben@acme.example"), long}} {
		got := reasonOf(t, w, w.sealed(t, w.until(week), sets...), func(c *trust.Config) {
			c.Threshold, c.Authorities = 2, []trust.AuthorityConfig{
				{Name: "anna", Issuer: w.IssuerURL, Subject: "anna@acme.example"}, {Name: "ben", Issuer: w.IssuerURL, Subject: "ben@acme.example"}}
		}, w.now)
		expect.Is(t, "result", verify.ReasonNoWitnessedTime, got)
	}
}

// TestRevokedCertificate: the fingerprint of a certificate revokes the signatures with it, and none with another
// certificate for the same key.
func TestRevokedCertificate(t *testing.T) {
	w := inWorld(t)
	key := newKey(t)
	docs := []*exception.Document{w.sealed(t, w.until(week), set{key: key}), w.sealed(t, w.until(week), set{key: key})}
	for revoked := range docs {
		sum := sha256.Sum256(readSeal(t, docs[revoked]).Signatures[0].Certificate)
		for i, doc := range docs {
			got := reasonOf(t, w, doc, func(c *trust.Config) {
				c.Revoked = []trust.RevocationConfig{{Certificate: "sha256:" + hex.EncodeToString(sum[:])}}
			}, w.now)
			want := map[bool]string{true: verify.ReasonWithdrawn}[i == revoked]
			expect.That(t, got == want, "certificate %d, and %d is revoked: %q, want %q", i, revoked, got, want)
		}
	}
}

// TestRevokedBeyondLimits: a revoked signature of an authority is rejected, even if the document is
// beyond its limits and counts for another authority with the same key.
func TestRevokedBeyondLimits(t *testing.T) {
	w := inWorld(t)
	key := newKey(t)
	public := string(orPanic(cryptoutils.MarshalPublicKeyToPEM(key.Public())))
	doc := stated(0, set{key: key, keyed: true})(t, w)
	for _, limit := range []string{"90d", "1h"} {
		got := reasonOf(t, w, doc, func(c *trust.Config) {
			c.MaxLifetime, c.Lifetimes = "", []trust.LifetimeConfig{{Authorities: []string{"a"}, Max: limit}}
			c.Authorities = []trust.AuthorityConfig{{Name: "a", Key: public}, {Name: "b", Key: public}}
			c.Revoked = []trust.RevocationConfig{{Authority: "a", SignedBefore: w.now.Add(day).UTC().Format(time.RFC3339)}}
		}, w.now)
		expect.Is(t, fmt.Sprintf("with a limit of %s", limit), verify.ReasonWithdrawn, got)
	}
}

// signing has a certificate's public key and signs with another key: nobody has the former's private key.
type signing struct{ *ecdsa.PrivateKey }

// TestLargeKeysAndTimestamps: a key or a timestamp that takes long to verify is rejected for its
// form. Anybody can make both.
func TestLargeKeysAndTimestamps(t *testing.T) {
	w := inWorld(t)
	selfIssued := func(public any) func(*ecdsa.PrivateKey) []byte {
		return func(key *ecdsa.PrivateKey) []byte {
			template := w.forgery(t, key, nil).Template
			template.SerialNumber = big.NewInt(1)
			if public == nil {
				public = key.Public()
			}
			return orPanic(x509.CreateCertificate(rand.Reader, template, template, public, signing{key}))
		}
	}
	large := new(big.Int).SetBit(big.NewInt(1), 65_535, 1)
	nested := orPanic(asn1.Marshal(asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true}))
	for range 40 {
		nested = orPanic(asn1.Marshal(asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true, Bytes: nested}))
	}
	stamped := func(stamp []byte) set {
		return set{onlyV03: true, certificate: selfIssued(nil), v03: func(b *protobundle.Bundle) {
			b.VerificationMaterial.TimestampVerificationData = &protobundle.TimestampVerificationData{Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: stamp}}}
		}}
	}
	got := map[string]string{}
	for name, s := range map[string]set{
		"a key of 65,536 bits": {certificate: selfIssued(&rsa.PublicKey{N: large, E: 65537})},
		"levels":               stamped(nested),
		"KiB":                  stamped(orPanic(asn1.Marshal(make([]byte, 17<<10)))),
		"not DER":              stamped([]byte{0x30, 0x80, 0, 0}),
	} {
		got[name] = reasonOf(t, w, w.sealed(t, w.until(week), s), nil, w.now)
	}
	want := map[string]string{"a key of 65,536 bits": verify.ReasonBadCertificate, "levels": verify.ReasonBadEvidence, "KiB": verify.ReasonBadEvidence, "not DER": verify.ReasonBadEvidence}
	expect.Equal(t, "result", want, got)
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

func publicVerifier(t testing.TB, config trust.Config) *verify.Verifier {
	t.Helper()
	policy := must.Get(trust.Load(config))(t)
	return must.Get(verify.New(policy))(t)
}

var sampleNow = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestTwoSignersOf2022(t *testing.T) {
	sample := peerSample(t)
	const prefix = "cosign.sigstore.dev/"
	swap := func(a, b string) func(object) {
		return func(root object) {
			m := root["metadata"].(object)["annotations"].(object)
			m[prefix+a], m[prefix+b] = m[prefix+b], m[prefix+a]
		}
	}
	without := func(parts ...string) func(object) {
		return func(root object) {
			for _, part := range parts {
				delete(root["metadata"].(object)["annotations"].(object), prefix+part)
			}
		}
	}
	data := func(key string, value any) func(object) {
		return func(root object) { root["data"].(object)[key] = value }
	}
	for _, tc := range []struct {
		name   string
		policy func(*trust.Config)
		edit   func(object)
		now    time.Time
		want   string
	}{
		{name: "as it is"},
		{name: "one is enough", policy: func(c *trust.Config) { c.Threshold = 1 }},
		{name: "both sets exchanged whole", edit: func(root object) {
			swap("signature", "signature_1")(root)
			swap("certificate", "certificate_1")(root)
			swap("bundle", "bundle_1")(root)
		}},
		{name: "one signer missing", edit: without("signature_1", "certificate_1", "bundle_1"), want: verify.ReasonTooFewAuthorities},
		{name: "three asked for", want: verify.ReasonTooFewAuthorities, policy: func(c *trust.Config) {
			c.Threshold = 3
			c.Authorities = append(c.Authorities, trust.AuthorityConfig{Name: "third", Issuer: "https://accounts.google.com", Subject: "anna@acme.example"})
		}},
		{name: "the issuers exchanged", want: verify.ReasonWrongIdentity, policy: func(c *trust.Config) {
			c.Authorities[0].Issuer, c.Authorities[1].Issuer = c.Authorities[1].Issuer, c.Authorities[0].Issuer
		}},
		{name: "another case of a subject", want: verify.ReasonTooFewAuthorities, policy: func(c *trust.Config) { c.Authorities[1].Subject = "Hkitahar@redhat.com" }},
		{name: "a kind that the policy does not speak of", want: verify.ReasonKindNotAllowed, policy: func(c *trust.Config) { c.Kinds = nil }},
		{name: "the kind in another group", want: verify.ReasonKindNotAllowed, policy: func(c *trust.Config) { c.Kinds = []string{"ConfigMap.evil.example"} }},
		{name: "a value changed", edit: data("key1", "val2"), want: verify.ReasonAltered},
		{name: "a value added", edit: data("key5", "val5"), want: verify.ReasonAltered},
		{name: "a value of another type", edit: data("key1", int64(1)), want: verify.ReasonAltered},
		{name: "the signatures exchanged", edit: swap("signature", "signature_1"), want: verify.ReasonLogEntryMismatch},
		{name: "the certificates exchanged", edit: swap("certificate", "certificate_1"), want: verify.ReasonLogEntryMismatch},
		{name: "the bundles exchanged", edit: swap("bundle", "bundle_1"), want: verify.ReasonLogEntryMismatch},
		{name: "a bundle missing", edit: without("bundle_1"), want: verify.ReasonNoLogEntry},
		{name: "a certificate missing", edit: without("certificate"), want: verify.ReasonUnknownKey},
		{name: "the first signature missing", edit: without("signature"), want: verify.ReasonMalformedSignature},
		{name: "before they signed", now: time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC), want: verify.ReasonSignedInFuture},
		{name: "one signer withdrawn", want: verify.ReasonWithdrawn, policy: func(c *trust.Config) {
			c.Revoked = []trust.RevocationConfig{{Authority: "redhat", SignedBefore: "2025-01-01T00:00:00Z"}}
		}},
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
			now := tc.now
			if now.IsZero() {
				now = sampleNow
			}
			judge(t, publicVerifier(t, config), doc, now, tc.want)
		})
	}
}
