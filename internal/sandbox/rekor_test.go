package sandbox_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/rekor-tiles/v2/pkg/client/write"
	rekortiles "github.com/sigstore/rekor-tiles/v2/pkg/generated/protobuf"
	tilesnote "github.com/sigstore/rekor-tiles/v2/pkg/note"
	tilesverify "github.com/sigstore/rekor-tiles/v2/pkg/verify"
	"github.com/sigstore/rekor/pkg/client"
	generated "github.com/sigstore/rekor/pkg/generated/client"
	"github.com/sigstore/rekor/pkg/generated/client/entries"
	"github.com/sigstore/rekor/pkg/generated/client/pubkey"
	"github.com/sigstore/rekor/pkg/generated/models"
	"github.com/sigstore/rekor/pkg/pki"
	"github.com/sigstore/rekor/pkg/types"
	"github.com/sigstore/rekor/pkg/types/hashedrekord"
	"github.com/sigstore/rekor/pkg/util"
	"github.com/sigstore/rekor/pkg/verify"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// rekorClient returns Rekor's own client and the published key of the log.
func rekorClient(t *testing.T, s *sandbox.Sandbox) (*generated.Rekor, signature.Verifier) {
	t.Helper()
	c := must.Get(client.GetRekorClient(s.RekorURL, client.WithRetryCount(0)))(t)
	answer := must.Get(c.Pubkey.GetPublicKey(pubkey.NewGetPublicKeyParamsWithContext(t.Context())))(t)
	key := must.Get(cryptoutils.UnmarshalPEMToPublicKey([]byte(answer.Payload)))(t)
	return c, must.Get(signature.LoadVerifier(key, crypto.SHA256))(t)
}

// signer proposes entries with one key.
type signer struct {
	key    *ecdsa.PrivateKey
	public []byte // PEM
}

func newSigner(t *testing.T) *signer {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	return &signer{key: key, public: must.Get(cryptoutils.MarshalPublicKeyToPEM(key.Public()))(t)}
}

// propose returns the entry for a text. Goroutines call it, so it returns its error.
func (s *signer) propose(t *testing.T, text string) (models.ProposedEntry, error) {
	digest := sha256.Sum256([]byte(text))
	signed, err := s.key.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	return hashedrekord.New().CreateProposedEntry(t.Context(), "", types.ArtifactProperties{
		PKIFormat:      string(pki.X509),
		ArtifactHash:   util.PrefixSHA(hex.EncodeToString(digest[:])),
		SignatureBytes: signed,
		PublicKeyBytes: [][]byte{s.public},
	})
}

func upload(t *testing.T, c *generated.Rekor, entry models.ProposedEntry) (*entries.CreateLogEntryCreated, error) {
	return c.Entries.CreateLogEntry(entries.NewCreateLogEntryParamsWithContext(t.Context()).WithProposedEntry(entry))
}

func TestConcurrentUploads(t *testing.T) {
	const uploads = 100
	s := start(t, sandbox.Options{})
	c, verifier := rekorClient(t, s)
	keys := newSigner(t)
	var ids [uploads]string
	var logged [uploads]models.LogEntryAnon
	var group errgroup.Group
	for i := range uploads {
		group.Go(func() error {
			proposed, err := keys.propose(t, fmt.Sprintf("text %d", i))
			if err != nil {
				return err
			}
			created, err := upload(t, c, proposed)
			if err != nil {
				return err
			}
			ids[i], logged[i] = created.ETag, created.Payload[created.ETag]
			expect.Is(t, "Location", "/api/v1/log/entries/"+created.ETag, created.Location.String())
			// Rekor's own client verifies the inclusion proof, the checkpoint and the promise.
			return verify.VerifyLogEntry(t.Context(), new(logged[i]), verifier)
		})
	}
	must.Do(t, group.Wait())

	seen := map[int64]bool{}
	for i := range uploads {
		seen[*logged[i].LogIndex] = true
		checkpoint := *logged[i].Verification.InclusionProof.Checkpoint
		expect.That(t, strings.HasPrefix(checkpoint, "polex-sandbox - "), "checkpoint %q", checkpoint)
	}
	expect.That(t, len(seen) == uploads && seen[0] && seen[uploads-1],
		"%d log indexes, want 0 to %d once each", len(seen), uploads-1)
	readTests(t, c, verifier, ids[:], logged[:])
}

func readTests(t *testing.T, c *generated.Rekor, verifier signature.Verifier, ids []string, logged []models.LogEntryAnon) {
	t.Helper()
	const some = 31
	id := ids[some]
	check := func(how string, got models.LogEntry) {
		t.Helper()
		entry, ok := got[id]
		must.That(t, ok, "get by %s: answer lacks %s", how, id)
		expect.Equal(t, fmt.Sprintf("get by %s, body", how), logged[some].Body, entry.Body)
		expect.NoError(t, verify.VerifyLogEntry(t.Context(), &entry, verifier))
	}
	for how, uuid := range map[string]string{"entry ID": id, "leaf hash": id[16:]} {
		answer, err := c.Entries.GetLogEntryByUUID(entries.NewGetLogEntryByUUIDParamsWithContext(t.Context()).WithEntryUUID(uuid))
		must.That(t, err == nil, "get by %s: %v", how, err)
		check(how, answer.Payload)
	}
	byIndex := must.Get(c.Entries.GetLogEntryByIndex(
		entries.NewGetLogEntryByIndexParamsWithContext(t.Context()).WithLogIndex(*logged[some].LogIndex)))(t)
	check("index", byIndex.Payload)

	found := must.Get(c.Entries.SearchLogQuery(entries.NewSearchLogQueryParamsWithContext(t.Context()).WithEntry(
		&models.SearchLogQuery{EntryUUIDs: []string{id, strings.Repeat("0", 64)}})))(t)
	must.That(t, len(found.Payload) == 1, "retrieve found %d entries, want the one that exists", len(found.Payload))
	check("retrieve", found.Payload[0])

	var missing *entries.GetLogEntryByUUIDNotFound
	for _, uuid := range []string{strings.Repeat("0", 64), "00000000deadbeef" + id[16:]} {
		_, err := c.Entries.GetLogEntryByUUID(entries.NewGetLogEntryByUUIDParamsWithContext(t.Context()).WithEntryUUID(uuid))
		expect.That(t, errors.As(err, &missing), "get %s: %v, want not found", uuid, err)
	}
}

func TestDuplicateUpload(t *testing.T) {
	s := start(t, sandbox.Options{})
	c, _ := rekorClient(t, s)
	proposed := must.Get(newSigner(t).propose(t, "once"))(t)
	created := must.Get(upload(t, c, proposed))(t)
	_, err := upload(t, c, proposed)
	var conflict *entries.CreateLogEntryConflict
	must.That(t, errors.As(err, &conflict), "second upload: %v, want a conflict", err)
	expect.Is(t, "Location", "/api/v1/log/entries/"+created.ETag, conflict.Location.String())
}

func TestBadUploads(t *testing.T) {
	s := start(t, sandbox.Options{})
	keys := newSigner(t)
	good := must.Get(keys.propose(t, "good"))(t)
	encoded := must.Get(json.Marshal(good))(t)
	replace := func(old, new string) []byte {
		must.That(t, bytes.Contains(encoded, []byte(old)), "entry has no %q", old)
		return bytes.Replace(encoded, []byte(old), []byte(new), 1)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte("good")))
	for _, tc := range []struct {
		name   string
		body   []byte
		status int
	}{
		{"signature of another text", replace(digest, fmt.Sprintf("%x", sha256.Sum256([]byte("bad")))), http.StatusBadRequest},
		{"unknown kind", replace(`"kind":"hashedrekord"`, `"kind":"nonsense"`), http.StatusBadRequest},
		{"unknown version", replace(`"apiVersion":"0.0.1"`, `"apiVersion":"9.9.9"`), http.StatusBadRequest},
		{"not JSON", []byte("{"), http.StatusBadRequest},
		{"nothing", nil, http.StatusBadRequest},
		{"too long", bytes.Repeat([]byte(" "), 1<<20+1), http.StatusBadRequest},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, _, answer := send(t, http.MethodPost, s.RekorURL+"/api/v1/log/entries",
				http.Header{"Content-Type": {"application/json"}}, bytes.NewReader(tc.body))
			var refused models.Error
			must.Do(t, json.Unmarshal(answer, &refused))
			expect.That(t, status == tc.status && refused.Code == int64(tc.status) && refused.Message != "",
				"status %d, %+v; want %d with a message", status, refused, tc.status)
		})
	}
	c, _ := rekorClient(t, s)
	if created, err := upload(t, c, good); err != nil || *created.Payload[created.ETag].LogIndex != 0 {
		t.Errorf("something was logged before: %v, %v", created, err)
	}
	_, _, key := send(t, http.MethodGet, s.RekorURL+"/api/v1/log/publicKey", nil, nil)
	block, _ := pem.Decode(key)
	expect.That(t, block != nil, "public key is not PEM: %q", key)
}

// logV2 is a log of Rekor's version 2, in the sandbox or elsewhere.
type logV2 struct {
	url string
	key crypto.PublicKey
}

// logsV2 returns the sandbox's log, and the log of POLEX_TEST_REKOR_V2_URL with the PEM key in the file
// POLEX_TEST_REKOR_V2_KEY, if set. The same tests then compare the sandbox with the real server.
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
			var group errgroup.Group
			var entries [uploads]*protorekor.TransparencyLogEntry
			for i := range uploads {
				group.Go(func() error {
					request, err := keys.request(fmt.Sprintf("text %d", i))
					if err != nil {
						return err
					}
					if entries[i], err = client.Add(context.Background(), request); err != nil {
						return err
					}
					return tilesverify.VerifyLogEntry(entries[i], verifier)
				})
			}
			must.Do(t, group.Wait())
			seen := map[int64]bool{}
			for _, entry := range entries {
				seen[entry.GetLogIndex()] = true
				checkFormV2(t, log, entry)
			}
			expect.That(t, len(seen) == uploads, "%d log indexes for %d uploads", len(seen), uploads)
		})
	}
}

// checkFormV2 checks the parts of an answer that the proof does not cover.
func checkFormV2(t *testing.T, log logV2, entry *protorekor.TransparencyLogEntry) {
	t.Helper()
	checkpoint := must.Get(tilesverify.VerifyCheckpoint(entry.GetInclusionProof().GetCheckpoint().GetEnvelope(),
		log.verifier(t)))(t)
	_, id, err := tilesnote.KeyHash("", log.key)
	must.Do(t, err)
	proof := entry.GetInclusionProof()
	got := []any{entry.GetKindVersion().GetKind(), entry.GetKindVersion().GetVersion(), entry.GetLogId().GetKeyId(), entry.GetInclusionPromise() == nil,
		entry.GetIntegratedTime(), proof.GetLogIndex(), uint64(proof.GetTreeSize()), proof.GetRootHash()}
	want := []any{"hashedrekord", "0.0.2", id, true, int64(0), entry.GetLogIndex(), checkpoint.Size, checkpoint.Hash}
	expect.Equal(t, "entry", want, got)
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
				must.Do(t, err)
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
				expect.That(t, status == tc.status, "%s: status %d, want %d: %s", tc.name, status, tc.status, answer)
				expect.That(t, tc.status != http.StatusConflict || header.Get("X-Log-Index") != "",
					"%s: the answer does not say where the entry is", tc.name)
			}
		})
	}
}

// The whole path of version 2, with sigstore-go's strictest verification.
func TestSignAndVerifyV2(t *testing.T) {
	s := start(t, sandbox.Options{})
	b := sealContent(t, s, mint(t, s, sandbox.Identity{}), &sign.PlainData{Data: []byte("hello")},
		&sign.RekorOptions{BaseURL: s.RekorV2URL, Version: 2})
	subject := sandbox.Identity{}.Subject()
	expect.NoError(t, openWith(s, b, "hello", s.IssuerURL, subject))
	expect.That(t, openWith(s, b, "hullo", s.IssuerURL, subject) != nil, "another text verified")
	expect.That(t, openWith(start(t, sandbox.Options{}), b, "hello", s.IssuerURL, subject) != nil, "verified by another sandbox")
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
			expect.That(t, (s.ConfigV2Path != "") == tc.v2,
				"configuration for version 2: %q, want it: %t", s.ConfigV2Path, tc.v2)
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
	expect.NoError(t, tilesverify.VerifyLogEntry(entry, log.verifier(t)))
}
