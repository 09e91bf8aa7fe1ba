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
	"testing"
	"time"

	"github.com/sigstore/rekor/pkg/pki"
	"github.com/sigstore/rekor/pkg/types"
	"github.com/sigstore/rekor/pkg/types/hashedrekord"
	sgsign "github.com/sigstore/sigstore-go/pkg/sign"
	"golang.org/x/sync/errgroup"

	"github.com/polex-dev/polex/internal/sandbox"

	_ "github.com/sigstore/rekor/pkg/types/hashedrekord/v0.0.1" // registers itself
)

// entries returns n prepared requests to a Rekor v1 log, with messages signed under one
// certificate.
func entries(t *testing.T, n int) [][]byte {
	t.Helper()
	pair, err := sgsign.NewEphemeralKeypair(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := box.Token(sandbox.Identity{}, "sigstore")
	if err != nil {
		t.Fatal(err)
	}
	der, err := sgsign.NewFulcio(&sgsign.FulcioOptions{BaseURL: real.FulcioURL}).GetCertificate(t.Context(), pair, &sgsign.CertificateProviderOptions{IDToken: text})
	if err != nil {
		t.Fatal(err)
	}
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
		if ready[i], err = json.Marshal(entry); err != nil {
			t.Fatal(err)
		}
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
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
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
