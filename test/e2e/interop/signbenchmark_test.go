//go:build e2e

package interop

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sigstore/rekor/pkg/pki"
	"github.com/sigstore/rekor/pkg/types"
	"github.com/sigstore/rekor/pkg/types/hashedrekord"
	_ "github.com/sigstore/rekor/pkg/types/hashedrekord/v0.0.1" // registers itself
	sgsign "github.com/sigstore/sigstore-go/pkg/sign"
	"golang.org/x/sync/errgroup"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/must"
)

// many adds a run with a thousand exceptions, which takes minutes.
var many = flag.Bool("many", false, "sign 1,000 exceptions as well")

// signedAtOnce lists the numbers of exceptions in one batch, and the numbers of runs.
// kubectl-sigstore takes a quarter of a second for each, so it signs at most looped, and the time
// for more is extrapolated.
var signedAtOnce = []struct{ exceptions, runs int }{{1, 7}, {100, 5}, {1000, 1}}

const looped = 100

// TestSignBeside measures, in turns, signing and promoting exceptions with the real Fulcio and
// Rekor v1, bare uploads of the same number of entries (eight in parallel, as in polex), and a loop
// with kubectl-sigstore sign. It prints the times, and does not judge them. It fails if the work
// was not done, or not with one certificate.
func TestSignBeside(t *testing.T) {
	build := exec.Command("go", "build", "-o", commands.Binaries, "./test/e2e/measure")
	build.Dir = fixture.FromRoot("")
	must.Run(t, build)
	counted := newCountedFulcio(t)
	var table strings.Builder
	fmt.Fprintf(&table, "%10s %5s  %-34s %10s %12s %13s %12s\n", "exceptions", "runs", "", "median", "to the bare", "certificates", "peak RSS MB")
	for _, b := range signedAtOnce {
		if b.exceptions > 100 && !*many {
			continue
		}
		all := []*signing{
			{name: "bare uploads to the log", sign: bareUploads},
			{name: "pkg/sign", sign: counted.library},
			{name: "polex-sign promote --commit", sign: counted.promote},
			{name: "loop of kubectl-sigstore sign", sign: kubectlSigstoreLoop},
		}
		for run := range b.runs {
			for _, s := range all {
				if s.name == all[3].name && run > 0 && b.exceptions > 1 {
					continue // half a minute each time
				}
				s.sign(t, s, b.exceptions)
			}
		}
		for _, s := range all {
			fmt.Fprintf(&table, "%10d %5d  %-34s %10s %12.2f %13s %12s\n", b.exceptions, len(s.took), s.name, s.median().Round(100*time.Microsecond),
				float64(s.median())/float64(all[0].median()), s.certificates, s.memory())
		}
	}
	t.Logf("8 uploads at once, on %d processors that the servers share\n%s", runtime.NumCPU(), table.String())
}

// signing is a way to sign exceptions, with its measurements.
type signing struct {
	name string
	sign func(t *testing.T, s *signing, n int)

	took         []time.Duration
	peak         int64  // bytes; 0 if it is not a separate process
	certificates string // for a batch
}

func (s *signing) median() time.Duration {
	sorted := slices.Sorted(slices.Values(s.took))
	return sorted[len(sorted)/2]
}

func (s *signing) memory() string {
	if s.peak == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", float64(s.peak)/1e6)
}

func bareUploads(t *testing.T, s *signing, n int) {
	s.took = append(s.took, upload(t, entries(t, n), sign.DefaultConcurrency))
}

// countedFulcio is a proxy for Fulcio that counts requests.
type countedFulcio struct {
	url   string
	asked atomic.Int64
}

func newCountedFulcio(t *testing.T) *countedFulcio {
	t.Helper()
	target := must.Get(url.Parse(real.FulcioURL))(t)
	c := &countedFulcio{}
	proxy := httputil.NewSingleHostReverseProxy(target)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.asked.Add(1)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	c.url = web.URL
	return c
}

// one fails unless exactly one certificate was requested since.
func (c *countedFulcio) one(t *testing.T, s *signing, before int64) {
	t.Helper()
	n := c.asked.Load() - before
	if s.certificates = fmt.Sprint(n); n != 1 {
		t.Errorf("%s: %d certificates for a batch", s.name, n)
	}
}

// library signs documents in memory.
func (c *countedFulcio) library(t *testing.T, s *signing, n int) {
	root := must.Get(trust.LoadRoot(real.TrustedRootPath))(t)
	text := must.Get(box.Token(sandbox.Identity{}, "sigstore"))(t)
	docs := make([]*exception.Document, n)
	for i := range docs {
		docs[i] = must.Get(exception.Parse([]byte(numbered(i)), "unsigned.yaml"))(t)
	}
	before := c.asked.Load()
	began := time.Now()
	signer := must.Get(sign.Keyless(t.Context(), sign.Config{RekorURL: real.RekorURL, Root: root}, c.url, text,
		began))(t)
	sealed, err := signer.Seal(t.Context(), docs, began)
	s.took = append(s.took, time.Since(began))
	if err != nil || len(sealed) != n {
		t.Fatalf("%d sealed of %d: %v", len(sealed), n, err)
	}
	c.one(t, s, before)
}

func numbered(i int) string {
	return strings.Replace(drafts["kyverno.io"], "NAME", fmt.Sprintf("agent-%04d", i), 1)
}

// promote runs the command in a repository with n pending exceptions.
func (c *countedFulcio) promote(t *testing.T, s *signing, n int) {
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "unsigned"), 0o700))
	for i := range n {
		must.Do(t, os.WriteFile(filepath.Join(dir, "unsigned", fmt.Sprintf("agent-%04d.yaml", i)),
			[]byte(numbered(i)), 0o600))
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"config", "user.name", "Workflow"}, {"config", "user.email", "workflow@example.com"},
		{"add", "--all"}, {"commit", "--quiet", "--message=Merge"}} {
		must.Do(t, commands.Finish(t.Context(), servers.Command{Program: "/usr/bin/git", Args: args, Dir: dir}))
	}
	before := c.asked.Load()
	if err := s.measure(t, servers.Command{Program: filepath.Join(commands.Binaries, "polex-sign"), Dir: dir, Args: []string{"--config", theReal().config, "--fulcio-url", c.url,
		"--identity-token", token(t, sandbox.Identity{}), "promote", "--commit"}}); err != nil {
		t.Fatal(err)
	}
	c.one(t, s, before)
	if got := verified(t, "--config", theReal().config, filepath.Join(dir, "signed")).reasons(); got != "["+strings.TrimSpace(strings.Repeat("verified ", n))+"]" {
		t.Errorf("%d promoted: %.200s", n, got)
	}
}

// kubectlSigstoreLoop signs each file with its own process.
func kubectlSigstoreLoop(t *testing.T, s *signing, n int) {
	d := newDetour(t)
	files := min(n, looped)
	out := filepath.Join(t.TempDir(), "sealed.yaml")
	env := append(theirEnv(t), "HTTPS_PROXY="+d.url, "HTTP_PROXY="+d.url, "SSL_CERT_FILE="+d.certificate,
		"ACTIONS_ID_TOKEN_REQUEST_URL="+box.TokenRequestURL, "ACTIONS_ID_TOKEN_REQUEST_TOKEN="+box.TokenRequestToken)
	loop := signing{}
	for i := range files {
		one := servers.Command{Program: fixture.FromRoot("bin/e2e/kubectl-sigstore"), Env: env, Dir: filepath.Dir(out), Input: "y\ny\ny\n",
			Args: []string{"sign", "--tarball=no", "--rekor-url", real.RekorURL, "-o", out, "-f"}}
		// It searches the log for its entry by the digest, and fails if the index is late. Only
		// successful runs count. A retry uses another file, or it would find the previous entry.
		for tries := 1; ; tries++ {
			try := one
			try.Args = append(slices.Clone(one.Args), resolved(t, "kyverno.io", fmt.Sprintf("peer-%04d-%d", i, tries)))
			err := loop.measure(t, try)
			if err == nil {
				break
			}
			if tries == 5 {
				t.Fatal(err)
			}
		}
	}
	// On a busy machine, its search of the log can find the entry of an earlier run.
	if got := verified(t, "--config", theReal().config, out); got.reasons() != "[verified]" {
		t.Logf("the last of them: %+v", got)
	}
	var took time.Duration
	for _, each := range loop.took {
		took += each
	}
	if n > files {
		s.name = fmt.Sprintf("%s, from %d", s.name, files)
	}
	s.took = append(s.took, took*time.Duration(n)/time.Duration(files))
	s.peak, s.certificates = max(s.peak, loop.peak), fmt.Sprint(d.led*n/files)
}

// measure runs a process from start to end with a small program that measures it. A failed run does
// not count.
func (s *signing) measure(t *testing.T, c servers.Command) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "measured.json")
	c.Program, c.Args = "measure", append([]string{file, c.Program}, c.Args...)
	if err := commands.Finish(t.Context(), c); err != nil {
		return err
	}
	var m struct{ Nanoseconds, PeakBytes int64 }
	must.Do(t, json.Unmarshal([]byte(read(t, file)), &m))
	s.took, s.peak = append(s.took, time.Duration(m.Nanoseconds)), max(s.peak, m.PeakBytes)
	return nil
}

// entries returns n prepared requests to a Rekor v1 log, with messages signed under one
// certificate.
func entries(t *testing.T, n int) [][]byte {
	t.Helper()
	pair := must.Get(sgsign.NewEphemeralKeypair(nil))(t)
	text := must.Get(box.Token(sandbox.Identity{}, "sigstore"))(t)
	der := must.Get(sgsign.NewFulcio(&sgsign.FulcioOptions{BaseURL: real.FulcioURL}).GetCertificate(t.Context(),
		pair, &sgsign.CertificateProviderOptions{IDToken: text}))(t)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	ready := make([][]byte, n)
	for i := range ready {
		message := fmt.Appendf(nil, "message %d", i)
		signature, _, err := pair.SignData(t.Context(), message)
		if err != nil {
			t.Fatal(err)
		}
		digest := sha256.Sum256(message)
		entry, err := hashedrekord.New().CreateProposedEntry(t.Context(), "", types.ArtifactProperties{PublicKeyBytes: [][]byte{certificate},
			PKIFormat: string(pki.X509), SignatureBytes: signature, ArtifactHash: "sha256:" + hex.EncodeToString(digest[:])})
		if err != nil {
			t.Fatal(err)
		}
		ready[i] = must.Get(json.Marshal(entry))(t)
	}
	return ready
}

// upload only sends entries to the real log, some in parallel. It returns the time for all.
func upload(t *testing.T, ready [][]byte, atOnce int) time.Duration {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: atOnce}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	began := time.Now()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(atOnce)
	for _, body := range ready {
		group.Go(func() error { return uploadOne(ctx, client, body) })
	}
	must.Do(t, group.Wait())
	return time.Since(began)
}

func uploadOne(ctx context.Context, client *http.Client, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, real.RekorURL+"/api/v1/log/entries", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if answer, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusCreated {
		return fmt.Errorf("%w: it returned %d: %s", err, response.StatusCode, answer)
	}
	return nil
}
