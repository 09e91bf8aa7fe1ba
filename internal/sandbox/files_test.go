package sandbox_test

import (
	"crypto/x509"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sigstore/sigstore-go/pkg/root"
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
