package verify_test

import (
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/modcache"
)

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
	policy := expect.Value(trust.Load(config))(t)
	return expect.Value(verify.New(policy))(t)
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
