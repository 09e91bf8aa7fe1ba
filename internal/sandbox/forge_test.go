package sandbox_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"net/url"
	"testing"
	"time"

	"github.com/sigstore/rekor/pkg/verify"
	"github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/must"
)

// A forgery is wrong only in the requested way.
func TestForgeCertificate(t *testing.T) {
	s := start(t, sandbox.Options{})
	trusted := must.Get(root.NewTrustedRootFromPath(s.TrustedRootPath))(t)
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	now := time.Now()
	evil, expected := &url.URL{Scheme: "https", Host: "example.com", Path: "/evil"}, &url.URL{Scheme: "https", Host: "example.com", Path: "/expected"}
	for _, tc := range []struct {
		name       string
		from, to   time.Time
		withoutSCT bool
		wantChain  bool
		wantSCT    bool
	}{
		{"logged", now.Add(-time.Minute), now.Add(time.Minute), false, true, true},
		{"not logged", now.Add(-time.Minute), now.Add(time.Minute), true, true, false},
		{"expired", now.Add(-time.Hour), now.Add(-time.Minute), false, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			der := must.Get(s.ForgeCertificate(t.Context(), sandbox.Forgery{
				Template: &x509.Certificate{
					NotBefore: tc.from, NotAfter: tc.to,
					URIs:        []*url.URL{evil, expected},
					KeyUsage:    x509.KeyUsageDigitalSignature,
					ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
				},
				PublicKey:  key.Public(),
				WithoutSCT: tc.withoutSCT,
			}))(t)
			leaf := must.Get(x509.ParseCertificate(der))(t)
			if len(leaf.URIs) != 2 || leaf.URIs[0].String() != evil.String() {
				t.Errorf("subjects %v", leaf.URIs)
			}
			chains, err := sgverify.VerifyLeafCertificate(now, leaf, trusted)
			if got := err == nil; got != tc.wantChain {
				t.Fatalf("chain verifies: %t (%v), want %t", got, err, tc.wantChain)
			}
			if err != nil {
				return
			}
			err = sgverify.VerifySignedCertificateTimestamp(chains, 1, trusted)
			if got := err == nil; got != tc.wantSCT {
				t.Errorf("SCT verifies: %t (%v), want %t", got, err, tc.wantSCT)
			}
		})
	}
}

func TestForgeEntry(t *testing.T) {
	s := start(t, sandbox.Options{})
	_, verifier := rekorClient(t, s)
	past := time.Date(2021, 3, 4, 5, 6, 7, 0, time.UTC)
	entry := must.Get(s.ForgeEntry(t.Context(), []byte(`{"kind":"nonsense"}`), past))(t)
	if err := verify.VerifyLogEntry(t.Context(), entry, verifier); err != nil {
		t.Errorf("verify: %v", err)
	}
	if *entry.IntegratedTime != past.Unix() {
		t.Errorf("integrated at %d, want %d", *entry.IntegratedTime, past.Unix())
	}
}

func TestForgeTimestamp(t *testing.T) {
	s := start(t, sandbox.Options{})
	trusted := must.Get(root.NewTrustedRootFromPath(s.TrustedRootPath))(t)
	for name, tc := range map[string]struct {
		at   time.Time
		want bool
	}{
		"now":                      {time.Now(), true},
		"tomorrow":                 {time.Now().Add(24 * time.Hour), true},
		"before the sandbox began": {time.Now().Add(-time.Hour), false},
	} {
		response := must.Get(s.ForgeTimestamp([]byte("signature"), tc.at))(t)
		got, err := trusted.TimestampingAuthorities()[0].Verify(response, []byte("signature"))
		if (err == nil) != tc.want {
			t.Errorf("%s: %v, want it to verify: %t", name, err, tc.want)
		}
		if err == nil && got.Time.Unix() != tc.at.Unix() {
			t.Errorf("%s: stamped %s, want %s", name, got.Time, tc.at)
		}
	}
}
