package sandbox_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sigstore/rekor/pkg/verify"
	"github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/must"
)

func TestFilesAreWritten(t *testing.T) {
	s := start(t, sandbox.Options{Identity: sandbox.Identity{EventName: "on", Ref: "refs/heads/release-1.2"}})
	want := `# Written by polex-sandbox. These keys live only as long as it runs: trust them for trying and testing, nowhere else.
apiVersion: polex.dev/v1alpha1
kind: Config
sigstore:
  fulcioURL: ` + s.FulcioURL + `
  rekorURL: ` + s.RekorURL + `
trust:
  trustedRoot: trusted_root.json     # relative to this file
  maxLifetime: 90d
  authorities:
    - name: sandbox-workflow
      issuer: ` + s.IssuerURL + `
      subject: https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/release-1.2
      claims:
        sourceRepositoryURI: https://github.com/acme/exceptions
        sourceRepositoryRef: refs/heads/release-1.2
        buildTrigger: "on"
        runnerEnvironment: github-hosted
`
	got := must.Get(os.ReadFile(s.ConfigPath))(t)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("polex.yaml (-want +got):\n%s", diff)
	}
	wantV2 := strings.Replace(want, "rekorURL: "+s.RekorURL, "rekorURL: "+s.RekorV2URL+"\n  rekorVersion: 2\n  timestampURL: "+s.TimestampURL, 1)
	if diff := cmp.Diff(wantV2, readFile(t, s.ConfigV2Path)); diff != "" {
		t.Errorf("polex-rekor-v2.yaml (-want +got):\n%s", diff)
	}
	entries := must.Get(os.ReadDir(s.Dir))(t)
	modes := map[string]os.FileMode{}
	for _, entry := range entries {
		info := must.Get(entry.Info())(t)
		modes[entry.Name()] = info.Mode()
	}
	wantModes := map[string]os.FileMode{
		"control.json": 0o600, "polex.yaml": 0o644, "polex-rekor-v2.yaml": 0o644, "trusted_root.json": 0o644,
		"fulcio.pem": 0o644, "rekor.pub": 0o644, "ctlog.pub": 0o644,
	}
	if diff := cmp.Diff(wantModes, modes); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// Tools that do not read a trusted root get the same keys as PEM.
func TestPEMFilesAreTheTrustedRoots(t *testing.T) {
	s := start(t, sandbox.Options{})
	trusted := must.Get(root.NewTrustedRootFromPath(s.TrustedRootPath))(t)
	for path, logs := range map[string]map[string]*root.TransparencyLog{s.RekorKeyPath: trusted.RekorLogs(), s.CTLogKeyPath: trusted.CTLogs()} {
		key := must.Get(cryptoutils.UnmarshalPEMToPublicKey([]byte(readFile(t, path))))(t)
		found := 0
		for _, log := range logs {
			if cryptoutils.EqualKeys(key, log.PublicKey) == nil {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%s: %d logs of the trusted root have this key, want 1", path, found)
		}
	}
	got := must.Get(cryptoutils.UnmarshalCertificatesFromPEM([]byte(readFile(t, s.FulcioChainPath))))(t)
	authority := trusted.FulcioCertificateAuthorities()[0].(*root.FulcioCertificateAuthority)
	want := []*x509.Certificate{authority.Intermediates[0], authority.Root}
	if len(got) != len(want) || !got[0].Equal(want[0]) || !got[1].Equal(want[1]) {
		t.Error("fulcio.pem is not intermediate and root")
	}
}

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
