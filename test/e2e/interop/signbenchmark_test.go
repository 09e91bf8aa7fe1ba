//go:build e2e

package interop

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
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
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/test/beside"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestSignBeside measures, in turns, bare uploads of entries to the real Rekor v1 (eight in parallel,
// as in polex), signing and promoting as many exceptions with polex-sign, and a loop with
// kubectl-sigstore sign, which takes a quarter of a second for each. It prints the times, and does
// not judge them. It fails if the work was not done, or not with one certificate.
func TestSignBeside(t *testing.T) {
	for _, b := range []struct{ exceptions, runs int }{{1, 7}, {50, 3}} {
		beside.Measure(t, fmt.Sprintf("%d exceptions", b.exceptions), b.runs,
			&beside.Way{Name: "bare uploads to the log", Do: bareUploads(t, b.exceptions)},
			&beside.Way{Name: "polex-sign promote --commit", Do: promote(t, b.exceptions)},
			&beside.Way{Name: "loop of kubectl-sigstore sign", Do: kubectlSigstoreLoop(t, b.exceptions)})
	}
}

func numbered(i int) string {
	return strings.Replace(drafts["kyverno.io"], "NAME", fmt.Sprintf("agent-%04d", i), 1)
}

// promote runs the command in a repository with n pending exceptions, and counts the requests to Fulcio.
func promote(t *testing.T, n int) func() beside.Cost {
	return func() beside.Cost {
		dir := t.TempDir()
		must.Do(t, os.Mkdir(filepath.Join(dir, "unsigned"), 0o700))
		for i := range n {
			path := filepath.Join(dir, "unsigned", fmt.Sprintf("agent-%04d.yaml", i))
			must.Do(t, os.WriteFile(path, []byte(numbered(i)), 0o600))
		}
		for _, args := range [][]string{{"init", "--quiet"}, {"config", "user.name", "Workflow"},
			{"config", "user.email", "workflow@example.com"}, {"add", "--all"}, {"commit", "--quiet", "--message=Merge"}} {
			must.Do(t, commands.Finish(t.Context(), servers.Command{Program: "/usr/bin/git", Args: args, Dir: dir}))
		}
		var asked atomic.Int64
		proxy := httputil.NewSingleHostReverseProxy(must.Get(url.Parse(real.FulcioURL))(t))
		fulcio := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			proxy.ServeHTTP(w, r)
		}))
		defer fulcio.Close()
		args := []string{"--config", theReal().config, "--fulcio-url", fulcio.URL,
			"--identity-token", token(t, sandbox.Identity{}), "promote", "--commit"}
		cost := beside.Timed(t, func() error {
			return commands.Finish(t.Context(), servers.Command{Program: "polex-sign", Dir: dir, Args: args})
		})
		expect.Is(t, "certificates for a batch", 1, asked.Load())
		want := "[" + strings.TrimSpace(strings.Repeat("verified ", n)) + "]"
		expect.Is(t, "promoted", want, verified(t, "--config", theReal().config, filepath.Join(dir, "signed")).reasons())
		return cost
	}
}

// kubectlSigstoreLoop signs each of n files with its own process.
func kubectlSigstoreLoop(t *testing.T, n int) func() beside.Cost {
	return func() (all beside.Cost) {
		d := newDetour(t)
		out := filepath.Join(t.TempDir(), "sealed.yaml")
		one := kubectlSigstoreCommand(t, d)
		for i := range n {
			// It searches the log for its entry by the digest, and fails if the index is late. Only
			// successful runs count. A retry uses another file, or it would find the previous entry.
			for tries := 1; ; tries++ {
				one.Args = []string{"sign", "--tarball=no", "--rekor-url", real.RekorURL, "-o", out, "-f",
					resolved(t, "kyverno.io", fmt.Sprintf("peer-%04d-%d", i, tries))}
				began := time.Now()
				err := commands.Finish(t.Context(), one)
				if err == nil {
					all.Time += time.Since(began)
					break
				}
				must.That(t, tries != 5, "%v", err)
			}
		}
		return all
	}
}

// entries returns n prepared requests to a Rekor v1 log, with messages signed under one certificate.
func entries(t testing.TB, n int) [][]byte {
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
		must.Do(t, err)
		digest := sha256.Sum256(message)
		entry := must.Get(hashedrekord.New().CreateProposedEntry(t.Context(), "", types.ArtifactProperties{
			PublicKeyBytes: [][]byte{certificate}, PKIFormat: string(pki.X509), SignatureBytes: signature,
			ArtifactHash: "sha256:" + hex.EncodeToString(digest[:])}))(t)
		ready[i] = must.Get(json.Marshal(entry))(t)
	}
	return ready
}

// bareUploads only sends n entries to the real log, some in parallel.
func bareUploads(t *testing.T, n int) func() beside.Cost {
	return func() beside.Cost {
		ready := entries(t, n)
		transport := &http.Transport{MaxIdleConnsPerHost: sign.DefaultConcurrency}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport, Timeout: time.Minute}
		return beside.Timed(t, func() error {
			group, ctx := errgroup.WithContext(t.Context())
			group.SetLimit(sign.DefaultConcurrency)
			for _, body := range ready {
				group.Go(func() error { return uploadOne(ctx, client, body) })
			}
			return group.Wait()
		})
	}
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
