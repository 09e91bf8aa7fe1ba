package sandbox_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/rekor/pkg/verify"
	"github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"golang.org/x/sync/errgroup"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// start runs a sandbox until the test ends.
func start(t *testing.T, opts sandbox.Options) *sandbox.Sandbox {
	t.Helper()
	if opts.Dir == "" {
		opts.Dir = t.TempDir()
	}
	s := must.Get(sandbox.Start(t.Context(), opts))(t)
	t.Cleanup(func() { expect.NoError(t, s.Close()) })
	return s
}

// mint returns a token for id, which must be valid.
func mint(t *testing.T, s *sandbox.Sandbox, id sandbox.Identity) string {
	t.Helper()
	return must.Get(s.Token(id, "sigstore"))(t)
}

// send sends a request and returns status, headers and body.
func send(t *testing.T, method, url string, header http.Header, body io.Reader) (int, http.Header, []byte) {
	t.Helper()
	request := must.Get(http.NewRequestWithContext(t.Context(), method, url, body))(t)
	if header != nil {
		request.Header = header
	}
	client := http.Client{Timeout: 10 * time.Second}
	response := must.Get(client.Do(request))(t) // an error names the method and the address
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode, response.Header, must.Get(io.ReadAll(response.Body))(t)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(path))(t))
}

func TestManyInOneProcess(t *testing.T) {
	var group errgroup.Group
	for range 4 {
		dir := t.TempDir()
		group.Go(func() error {
			s, err := sandbox.Start(t.Context(), sandbox.Options{Dir: dir})
			if err != nil {
				return err
			}
			defer s.Close()
			token, err := s.Token(sandbox.Identity{}, "sigstore")
			if err != nil {
				return err
			}
			return certify(t, s, token)
		})
	}
	must.Do(t, group.Wait())
}

func TestCloseFreesThePorts(t *testing.T) {
	s := must.Get(sandbox.Start(t.Context(), sandbox.Options{Dir: t.TempDir()}))(t)
	expect.NoError(t, s.Close())
	expect.NoError(t, s.Close()) // again
	for _, address := range []string{s.FulcioURL, s.RekorURL, s.RekorV2URL, s.TimestampURL, s.CTLogURL, s.IssuerURL} {
		u := must.Get(url.Parse(address))(t)
		must.Do(t, must.Get(net.Listen("tcp4", u.Host))(t).Close()) // it is free
	}
	_, err := os.Stat(filepath.Join(s.Dir, "control.json"))
	expect.Cause(t, err, os.ErrNotExist)
	_, err = os.Stat(s.TrustedRootPath)
	expect.NoError(t, err)
}

// A request that never ends must not block Close.
func TestCloseIsBounded(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	s := must.Get(sandbox.Start(t.Context(), sandbox.Options{
		Dir: t.TempDir(),
		Intercept: func(server string, next http.Handler) http.Handler {
			if server != sandbox.ServerRekor {
				return next
			}
			return http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				close(entered)
				<-release
			})
		},
	}))(t)
	go func() {
		client := http.Client{Timeout: time.Minute}
		if response, err := client.Get(s.RekorURL); err == nil {
			response.Body.Close()
		}
	}()
	<-entered
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		expect.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("Close waits for a request that does not end")
	}
}

func TestIntercept(t *testing.T) {
	var names []string
	s := start(t, sandbox.Options{Intercept: func(server string, next http.Handler) http.Handler {
		names = append(names, server)
		if server != sandbox.ServerTimestamp {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	}})
	slices.Sort(names)
	expect.Equal(t, "servers", []string{"ctlog", "fulcio", "issuer", "rekor", "rekor-v2", "timestamp"}, names)
	status, _, _ := send(t, http.MethodPost, s.TimestampURL, nil, nil)
	expect.That(t, status == http.StatusServiceUnavailable, "status %d, want 503", status)
	expect.NoError(t, certify(t, s, mint(t, s, sandbox.Identity{}))) // by the others
}

func TestRequestLog(t *testing.T) {
	var out bytes.Buffer
	s := must.Get(sandbox.Start(t.Context(), sandbox.Options{Dir: t.TempDir(), Log: &out}))(t)
	send(t, http.MethodGet, s.RekorURL+"/api/v1/log/entries/%0Aforged", nil, nil)
	must.Do(t, s.Close())
	want := "polex-sandbox: rekor: GET /api/v1/log/entries/%0Aforged 400 "
	expect.That(t, strings.Contains(out.String(), want), "log lacks %q:\n%s", want, out.String())
}

func TestStartRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	running := start(t, sandbox.Options{})
	for name, opts := range map[string]sandbox.Options{
		"no folder":        {},
		"folder is a file": {Dir: file},
		"folder in use":    {Dir: running.Dir},
		"version of Rekor": {Dir: t.TempDir(), RekorVersions: []int{1, 3}},
		"repository":       {Dir: t.TempDir(), Identity: sandbox.Identity{Repository: "acme"}},
		"short ref":        {Dir: t.TempDir(), Identity: sandbox.Identity{Ref: "main"}},
		"newline":          {Dir: t.TempDir(), Identity: sandbox.Identity{EventName: "push\nx: y"}},
	} {
		s, err := sandbox.Start(t.Context(), opts)
		if err == nil {
			s.Close()
			t.Errorf("%s: started", name)
		}
	}
	expect.NoError(t, certify(t, running, mint(t, running, sandbox.Identity{}))) // it was not disturbed
}

func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	for i := 0; b.Loop(); i++ {
		s := must.Get(sandbox.Start(b.Context(), sandbox.Options{Dir: filepath.Join(dir, fmt.Sprint(i))}))(b)
		must.Do(b, s.Close())
	}
}

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
	expect.Equal(t, "polex.yaml", want, readFile(t, s.ConfigPath))
	wantV2 := strings.Replace(want, "rekorURL: "+s.RekorURL, "rekorURL: "+s.RekorV2URL+"\n  rekorVersion: 2\n  timestampURL: "+s.TimestampURL, 1)
	expect.Equal(t, "polex-rekor-v2.yaml", wantV2, readFile(t, s.ConfigV2Path))
	modes := map[string]os.FileMode{}
	for _, entry := range must.Get(os.ReadDir(s.Dir))(t) {
		modes[entry.Name()] = must.Get(entry.Info())(t).Mode()
	}
	wantModes := map[string]os.FileMode{
		"control.json": 0o600, "polex.yaml": 0o644, "polex-rekor-v2.yaml": 0o644, "trusted_root.json": 0o644,
		"fulcio.pem": 0o644, "rekor.pub": 0o644, "ctlog.pub": 0o644,
	}
	expect.Equal(t, "files", wantModes, modes)
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
		expect.That(t, found == 1, "%s: %d logs of the trusted root have this key, want 1", path, found)
	}
	got := must.Get(cryptoutils.UnmarshalCertificatesFromPEM([]byte(readFile(t, s.FulcioChainPath))))(t)
	authority := trusted.FulcioCertificateAuthorities()[0].(*root.FulcioCertificateAuthority)
	want := []*x509.Certificate{authority.Intermediates[0], authority.Root}
	expect.That(t, len(got) == len(want) && got[0].Equal(want[0]) && got[1].Equal(want[1]),
		"fulcio.pem is not intermediate and root")
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
			expect.That(t, len(leaf.URIs) == 2 && leaf.URIs[0].String() == evil.String(), "subjects %v", leaf.URIs)
			chains, err := sgverify.VerifyLeafCertificate(now, leaf, trusted)
			must.That(t, (err == nil) == tc.wantChain, "chain: %v, want it to verify: %t", err, tc.wantChain)
			if err == nil {
				err = sgverify.VerifySignedCertificateTimestamp(chains, 1, trusted)
				expect.That(t, (err == nil) == tc.wantSCT, "SCT: %v, want it to verify: %t", err, tc.wantSCT)
			}
		})
	}
}

func TestForgeEntry(t *testing.T) {
	s := start(t, sandbox.Options{})
	_, verifier := rekorClient(t, s)
	past := time.Date(2021, 3, 4, 5, 6, 7, 0, time.UTC)
	entry := must.Get(s.ForgeEntry(t.Context(), []byte(`{"kind":"nonsense"}`), past))(t)
	expect.NoError(t, verify.VerifyLogEntry(t.Context(), entry, verifier))
	expect.Is(t, "integrated at", past.Unix(), *entry.IntegratedTime)
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
		expect.That(t, (err == nil) == tc.want, "%s: %v, want it to verify: %t", name, err, tc.want)
		if err == nil && got.Time.Unix() != tc.at.Unix() {
			t.Errorf("%s: stamped %s, want %s", name, got.Time, tc.at)
		}
	}
}
