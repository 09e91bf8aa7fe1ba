package sandbox_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/must"
)

// rekorClient returns Rekor's own client and the published key of the log.
func rekorClient(t *testing.T, s *sandbox.Sandbox) (*generated.Rekor, signature.Verifier) {
	t.Helper()
	c := must.Get(client.GetRekorClient(s.RekorURL, client.WithRetryCount(0)))(t)
	answer, err := c.Pubkey.GetPublicKey(pubkey.NewGetPublicKeyParamsWithContext(t.Context()))
	if err != nil {
		t.Fatalf("GetPublicKey: %v", err)
	}
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
	var (
		wg     sync.WaitGroup
		ids    [uploads]string
		logged [uploads]models.LogEntryAnon
	)
	for i := range uploads {
		wg.Go(func() {
			proposed, err := keys.propose(t, fmt.Sprintf("text %d", i))
			if err != nil {
				t.Errorf("propose %d: %v", i, err)
				return
			}
			created, err := upload(t, c, proposed)
			if err != nil {
				t.Errorf("upload %d: %v", i, err)
				return
			}
			ids[i], logged[i] = created.ETag, created.Payload[created.ETag]
			if got, want := created.Location.String(), "/api/v1/log/entries/"+created.ETag; got != want {
				t.Errorf("Location %q, want %q", got, want)
			}
			// Rekor's own client verifies the inclusion proof, the checkpoint and the promise.
			if err := verify.VerifyLogEntry(t.Context(), new(logged[i]), verifier); err != nil {
				t.Errorf("verify %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}

	seen := map[int64]bool{}
	for i := range uploads {
		seen[*logged[i].LogIndex] = true
		if want := "polex-sandbox - "; !strings.HasPrefix(*logged[i].Verification.InclusionProof.Checkpoint, want) {
			t.Errorf("checkpoint does not begin with %q", want)
		}
	}
	if len(seen) != uploads || !seen[0] || !seen[uploads-1] {
		t.Errorf("%d log indexes, want 0 to %d once each", len(seen), uploads-1)
	}
	readTests(t, c, verifier, ids[:], logged[:])
}

func readTests(t *testing.T, c *generated.Rekor, verifier signature.Verifier, ids []string, logged []models.LogEntryAnon) {
	t.Helper()
	const some = 31
	id := ids[some]
	check := func(how string, got models.LogEntry, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("get by %s: %v", how, err)
			return
		}
		entry, ok := got[id]
		if !ok {
			t.Errorf("get by %s: answer lacks %s", how, id)
			return
		}
		if diff := cmp.Diff(logged[some].Body, entry.Body); diff != "" {
			t.Errorf("get by %s, body (-want +got):\n%s", how, diff)
		}
		if err := verify.VerifyLogEntry(t.Context(), &entry, verifier); err != nil {
			t.Errorf("get by %s: %v", how, err)
		}
	}
	for how, uuid := range map[string]string{"entry ID": id, "leaf hash": id[16:]} {
		answer, err := c.Entries.GetLogEntryByUUID(entries.NewGetLogEntryByUUIDParamsWithContext(t.Context()).WithEntryUUID(uuid))
		if err != nil {
			t.Errorf("get by %s: %v", how, err)
			continue
		}
		check(how, answer.Payload, nil)
	}
	byIndex, err := c.Entries.GetLogEntryByIndex(entries.NewGetLogEntryByIndexParamsWithContext(t.Context()).WithLogIndex(*logged[some].LogIndex))
	if err != nil {
		t.Fatalf("get by index: %v", err)
	}
	check("index", byIndex.Payload, nil)

	found, err := c.Entries.SearchLogQuery(entries.NewSearchLogQueryParamsWithContext(t.Context()).WithEntry(
		&models.SearchLogQuery{EntryUUIDs: []string{id, strings.Repeat("0", 64)}}))
	if err != nil {
		t.Fatalf("retrieve: %v", err)
	}
	if len(found.Payload) != 1 {
		t.Fatalf("retrieve found %d entries, want the one that exists", len(found.Payload))
	}
	check("retrieve", found.Payload[0], nil)

	var missing *entries.GetLogEntryByUUIDNotFound
	for _, uuid := range []string{strings.Repeat("0", 64), "00000000deadbeef" + id[16:]} {
		_, err := c.Entries.GetLogEntryByUUID(entries.NewGetLogEntryByUUIDParamsWithContext(t.Context()).WithEntryUUID(uuid))
		if !errors.As(err, &missing) {
			t.Errorf("get %s: %v, want not found", uuid, err)
		}
	}
}

func TestDuplicateUpload(t *testing.T) {
	s := start(t, sandbox.Options{})
	c, _ := rekorClient(t, s)
	proposed, err := newSigner(t).propose(t, "once")
	if err != nil {
		t.Fatal(err)
	}
	created := must.Get(upload(t, c, proposed))(t)
	_, err = upload(t, c, proposed)
	var conflict *entries.CreateLogEntryConflict
	if !errors.As(err, &conflict) {
		t.Fatalf("second upload: %v, want a conflict", err)
	}
	if got, want := conflict.Location.String(), "/api/v1/log/entries/"+created.ETag; got != want {
		t.Errorf("Location %q, want %q", got, want)
	}
}

func TestBadUploads(t *testing.T) {
	s := start(t, sandbox.Options{})
	keys := newSigner(t)
	good := must.Get(keys.propose(t, "good"))(t)
	encoded := must.Get(json.Marshal(good))(t)
	replace := func(old, new string) []byte {
		if !bytes.Contains(encoded, []byte(old)) {
			t.Fatalf("entry has no %q", old)
		}
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
			if err := json.Unmarshal(answer, &refused); err != nil {
				t.Fatalf("answer %q: %v", answer, err)
			}
			if status != tc.status || refused.Code != int64(tc.status) || refused.Message == "" {
				t.Errorf("status %d, %+v; want %d with a message", status, refused, tc.status)
			}
		})
	}
	c, _ := rekorClient(t, s)
	if created, err := upload(t, c, good); err != nil || *created.Payload[created.ETag].LogIndex != 0 {
		t.Errorf("something was logged before: %v, %v", created, err)
	}
	_, _, key := send(t, http.MethodGet, s.RekorURL+"/api/v1/log/publicKey", nil, nil)
	if block, _ := pem.Decode(key); block == nil {
		t.Errorf("public key is not PEM: %q", key)
	}
}
