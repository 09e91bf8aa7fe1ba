package sandbox_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"testing"

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
	verifier := must.Get(signature.LoadVerifier(key, crypto.SHA256))(t)
	return c, verifier
}

// signer proposes entries with one key.
type signer struct {
	key    *ecdsa.PrivateKey
	public []byte // PEM
}

func newSigner(t *testing.T) *signer {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	public := must.Get(cryptoutils.MarshalPublicKeyToPEM(key.Public()))(t)
	return &signer{key: key, public: public}
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
