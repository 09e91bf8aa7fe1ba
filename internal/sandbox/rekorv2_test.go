package sandbox_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/rekor-tiles/v2/pkg/client/write"
	rekortiles "github.com/sigstore/rekor-tiles/v2/pkg/generated/protobuf"
	tilesnote "github.com/sigstore/rekor-tiles/v2/pkg/note"
	tilesverify "github.com/sigstore/rekor-tiles/v2/pkg/verify"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/sign"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"golang.org/x/mod/sumdb/note"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/must"
)

// logV2 is a log of Rekor's version 2, in the sandbox or elsewhere.
type logV2 struct {
	url string
	key crypto.PublicKey
}

// logsV2 returns the sandbox's log, and the log of POLEX_TEST_REKOR_V2_URL with the PEM key in the
// file POLEX_TEST_REKOR_V2_KEY, if set. The same tests then compare the sandbox with the real
// server.
func logsV2(t *testing.T) map[string]logV2 {
	t.Helper()
	s := start(t, sandbox.Options{})
	logs := map[string]logV2{"sandbox": {s.RekorV2URL, logKeyOf(t, s, s.RekorV2URL)}}
	if address := os.Getenv("POLEX_TEST_REKOR_V2_URL"); address != "" {
		key := []byte(readFile(t, os.Getenv("POLEX_TEST_REKOR_V2_KEY")))
		logs["named"] = logV2{address, must.Get(cryptoutils.UnmarshalPEMToPublicKey(key))(t)}
	}
	return logs
}

func logKeyOf(t *testing.T, s *sandbox.Sandbox, address string) crypto.PublicKey {
	t.Helper()
	trusted := must.Get(root.NewTrustedRootFromPath(s.TrustedRootPath))(t)
	for _, log := range trusted.RekorLogs() {
		if log.BaseURL == address {
			return log.PublicKey
		}
	}
	t.Fatalf("the trusted root lists no log at %s", address)
	return nil
}

func (l logV2) verifier(t *testing.T) note.Verifier {
	t.Helper()
	u := must.Get(url.Parse(l.url))(t)
	key := must.Get(signature.LoadVerifier(l.key, crypto.SHA256))(t)
	return must.Get(tilesnote.NewNoteVerifier(u.Hostname(), key))(t)
}

// request returns the request for a text. Goroutines call it, so it returns its error.
func (s *signer) request(text string) (*rekortiles.HashedRekordRequestV002, error) {
	digest := sha256.Sum256([]byte(text))
	signed, err := s.key.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(s.key.Public())
	if err != nil {
		return nil, err
	}
	return &rekortiles.HashedRekordRequestV002{Digest: digest[:], Signature: &rekortiles.Signature{Content: signed, Verifier: &rekortiles.Verifier{
		Verifier:   &rekortiles.Verifier_PublicKey{PublicKey: &rekortiles.PublicKey{RawBytes: der}},
		KeyDetails: protocommon.PublicKeyDetails_PKIX_ECDSA_P256_SHA_256,
	}}}, nil
}

func TestConcurrentUploadsV2(t *testing.T) {
	for name, log := range logsV2(t) {
		t.Run(name, func(t *testing.T) {
			const uploads = 50
			client := must.Get(write.NewWriter(log.url))(t)
			keys, verifier := newSigner(t), log.verifier(t)
			var wg sync.WaitGroup
			var entries [uploads]*protorekor.TransparencyLogEntry
			for i := range uploads {
				wg.Go(func() {
					request, err := keys.request(fmt.Sprintf("text %d", i))
					if err == nil {
						entries[i], err = client.Add(context.Background(), request)
					}
					if err != nil {
						t.Errorf("upload %d: %v", i, err)
						return
					}
					if err := tilesverify.VerifyLogEntry(entries[i], verifier); err != nil {
						t.Errorf("verify %d: %v", i, err)
					}
				})
			}
			wg.Wait()
			if t.Failed() {
				return
			}
			seen := map[int64]bool{}
			for _, entry := range entries {
				seen[entry.GetLogIndex()] = true
				checkFormV2(t, log, entry)
			}
			if len(seen) != uploads {
				t.Errorf("%d log indexes for %d uploads", len(seen), uploads)
			}
		})
	}
}

// checkFormV2 checks the parts of an answer that the proof does not cover.
func checkFormV2(t *testing.T, log logV2, entry *protorekor.TransparencyLogEntry) {
	t.Helper()
	checkpoint := must.Get(tilesverify.VerifyCheckpoint(entry.GetInclusionProof().GetCheckpoint().GetEnvelope(),
		log.verifier(t)))(t)
	_, id, err := tilesnote.KeyHash("", log.key)
	if err != nil {
		t.Fatal(err)
	}
	proof := entry.GetInclusionProof()
	got := []any{entry.GetKindVersion().GetKind(), entry.GetKindVersion().GetVersion(), entry.GetLogId().GetKeyId(), entry.GetInclusionPromise() == nil,
		entry.GetIntegratedTime(), proof.GetLogIndex(), uint64(proof.GetTreeSize()), proof.GetRootHash()}
	want := []any{"hashedrekord", "0.0.2", id, true, int64(0), entry.GetLogIndex(), checkpoint.Size, checkpoint.Hash}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
	if body := string(entry.GetCanonicalizedBody()); !strings.HasPrefix(body, `{"apiVersion":"0.0.2","kind":"hashedrekord","spec":{"hashedRekordV002":{"data":{"algorithm":"SHA2_256"`) {
		t.Errorf("body %s", body)
	}
}

// Invalid hashedrekord 0.0.2 entries and duplicates are refused.
func TestRefusedUploadsV2(t *testing.T) {
	for name, log := range logsV2(t) {
		t.Run(name, func(t *testing.T) {
			keys := newSigner(t)
			good := must.Get(keys.request("good"))(t)
			encode := func(edit func(*rekortiles.HashedRekordRequestV002)) []byte {
				request := must.Get(keys.request("another"))(t)
				edit(request)
				body, err := protojson.Marshal(&rekortiles.CreateEntryRequest{Spec: &rekortiles.CreateEntryRequest_HashedRekordRequestV002{HashedRekordRequestV002: request}})
				if err != nil {
					t.Fatal(err)
				}
				return body
			}
			first := encode(func(r *rekortiles.HashedRekordRequestV002) { r.Digest, r.Signature = good.Digest, good.Signature })
			for _, tc := range []struct {
				name   string
				body   []byte
				status int
			}{
				{"good", first, http.StatusCreated},
				{"once more", first, http.StatusConflict},
				{"signature of another text", encode(func(r *rekortiles.HashedRekordRequestV002) { r.Digest = good.Digest }), http.StatusBadRequest},
				{"digest of another length", encode(func(r *rekortiles.HashedRekordRequestV002) { r.Digest = r.Digest[:16] }), http.StatusBadRequest},
				{"no signature", encode(func(r *rekortiles.HashedRekordRequestV002) { r.Signature.Content = nil }), http.StatusBadRequest},
				{"no key", encode(func(r *rekortiles.HashedRekordRequestV002) { r.Signature.Verifier.Verifier = nil }), http.StatusBadRequest},
				{"another algorithm", encode(func(r *rekortiles.HashedRekordRequestV002) {
					r.Signature.Verifier.KeyDetails = protocommon.PublicKeyDetails_PKIX_ECDSA_P384_SHA_384
				}), http.StatusBadRequest},
				{"another kind", []byte(`{"dsseRequestV002":{}}`), http.StatusBadRequest},
				{"an unknown field", bytes.Replace(first, []byte("{"), []byte(`{"more":1,`), 1), http.StatusBadRequest},
				{"nothing said", []byte("{}"), http.StatusBadRequest},
				{"nothing", nil, http.StatusBadRequest},
				{"not JSON", []byte("{"), http.StatusBadRequest},
			} {
				status, header, answer := send(t, http.MethodPost, log.url+"/api/v2/log/entries",
					http.Header{"Content-Type": {"application/json"}}, bytes.NewReader(tc.body))
				if status != tc.status {
					t.Errorf("%s: status %d, want %d: %s", tc.name, status, tc.status, answer)
				}
				if tc.status == http.StatusConflict && header.Get("X-Log-Index") == "" {
					t.Errorf("%s: the answer does not say where the entry is", tc.name)
				}
			}
		})
	}
}

// The whole path of version 2, with sigstore-go's strictest verification.
func TestSignAndVerifyV2(t *testing.T) {
	s := start(t, sandbox.Options{})
	b := sealContent(t, s, mint(t, s, sandbox.Identity{}), &sign.PlainData{Data: []byte("hello")},
		&sign.RekorOptions{BaseURL: s.RekorV2URL, Version: 2})
	options := []sgverify.VerifierOption{sgverify.WithTransparencyLog(1), sgverify.WithSignedTimestamps(1), sgverify.WithSignedCertificateTimestamps(1)}
	if err := openWith(s, b, "hello", s.IssuerURL, (sandbox.Identity{}).Subject(), options); err != nil {
		t.Errorf("verify: %v", err)
	}
	if err := openWith(s, b, "hullo", s.IssuerURL, (sandbox.Identity{}).Subject(), options); err == nil {
		t.Error("another text verified")
	}
	other := start(t, sandbox.Options{})
	if err := openWith(other, b, "hello", s.IssuerURL, (sandbox.Identity{}).Subject(), options); err == nil {
		t.Error("verified by another sandbox")
	}
}

// The files match the running logs.
func TestRekorVersions(t *testing.T) {
	for _, tc := range []struct {
		versions []int
		v1, v2   bool
	}{
		{nil, true, true}, {[]int{1}, true, false}, {[]int{2}, false, true}, {[]int{2, 1, 2}, true, true},
	} {
		t.Run(fmt.Sprint(tc.versions), func(t *testing.T) {
			var names []string
			s := start(t, sandbox.Options{RekorVersions: tc.versions, Intercept: func(server string, next http.Handler) http.Handler {
				names = append(names, server)
				return next
			}})
			trusted := must.Get(root.NewTrustedRootFromPath(s.TrustedRootPath))(t)
			var listed []string
			for _, log := range trusted.RekorLogs() {
				listed = append(listed, log.BaseURL)
			}
			for _, log := range []struct {
				server, url string
				want        bool
			}{{sandbox.ServerRekor, s.RekorURL, tc.v1}, {sandbox.ServerRekorV2, s.RekorV2URL, tc.v2}} {
				runs, inRoot := strings.Contains(strings.Join(names, " ")+" ", log.server+" "), log.url != "" && strings.Contains(strings.Join(listed, " ")+" ", log.url+" ")
				if (log.url != "") != log.want || runs != log.want || inRoot != log.want {
					t.Errorf("%s: address %q, runs %t, in the trusted root %t; want %t", log.server, log.url, runs, inRoot, log.want)
				}
			}
			if config := readFile(t, s.ConfigPath); strings.Contains(config, "rekorVersion: 2") == tc.v1 {
				t.Errorf("polex.yaml names the wrong log:\n%s", config)
			}
			if (s.ConfigV2Path != "") != tc.v2 {
				t.Errorf("configuration for version 2: %q, want it: %t", s.ConfigV2Path, tc.v2)
			}
			if _, err := os.Stat(s.Dir + "/rekor.pub"); (err == nil) != tc.v1 || (s.RekorKeyPath != "") != tc.v1 {
				t.Errorf("rekor.pub: %v, path %q; want it: %t", err, s.RekorKeyPath, tc.v1)
			}
		})
	}
}

func TestForgeEntryV2(t *testing.T) {
	s := start(t, sandbox.Options{})
	entry := must.Get(s.ForgeEntryV2(t.Context(), []byte(`{"kind":"nonsense"}`)))(t)
	log := logV2{s.RekorV2URL, logKeyOf(t, s, s.RekorV2URL)}
	if err := tilesverify.VerifyLogEntry(entry, log.verifier(t)); err != nil {
		t.Errorf("verify: %v", err)
	}
}
