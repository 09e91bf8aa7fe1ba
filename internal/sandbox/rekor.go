package sandbox

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"math/big"
	"net/http"
	"sync"

	"github.com/cyberphone/json-canonicalization/go/src/webpki.org/jsoncanonicalizer"
	"github.com/go-openapi/strfmt"
	"github.com/sigstore/rekor/pkg/generated/models"
	"github.com/sigstore/rekor/pkg/util"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/options"

	// The kinds of entries, which register themselves in Rekor's registry.
	_ "github.com/sigstore/rekor/pkg/types/dsse/v0.0.1"
	_ "github.com/sigstore/rekor/pkg/types/hashedrekord/v0.0.1"
	_ "github.com/sigstore/rekor/pkg/types/intoto/v0.0.2"
	_ "github.com/sigstore/rekor/pkg/types/rekord/v0.0.1"
)

const (
	rekorHostname = "polex-sandbox"
	entriesPath   = "/api/v1/log/entries"
)

// rekor is a transparency log with the part of Rekor's version 1 API that signers use: one shard and
// a Merkle tree in memory. It has no index for searches, and no functions for monitors.
type rekor struct {
	key    *logKey
	signer signature.Signer
	treeID int64

	mu     sync.RWMutex
	tree   *merkleTree
	leaves []leaf
	byHash map[string]int // leaf hash in hexadecimal to position in leaves
}

// leaf is one stored entry.
type leaf struct {
	body       []byte // canonical JSON; the input of hash
	hash       []byte
	integrated int64 // seconds since 1970
}

func newRekor(key *logKey) (*rekor, error) {
	signer, err := signature.LoadECDSASigner(key.private, crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("load rekor key: %w", err)
	}
	// A positive 63-bit number, as in Trillian. It is random, so that the entry IDs of two
	// sandboxes differ.
	treeID, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, fmt.Errorf("choose tree id: %w", err)
	}
	return &rekor{
		key:    key,
		signer: signer,
		treeID: treeID.Int64() + 1<<62,
		tree:   newMerkleTree(),
		byHash: map[string]int{},
	}, nil
}

func (l *rekor) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+entriesPath, l.serveCreate)
	mux.HandleFunc("GET "+entriesPath, l.serveByIndex)
	mux.HandleFunc("GET "+entriesPath+"/{id}", l.serveByID)
	mux.HandleFunc("POST "+entriesPath+"/retrieve", l.serveRetrieve) // cosign reads it when it verifies with a key
	mux.HandleFunc("GET /api/v1/log/publicKey", l.servePublicKey)
	return mux
}

func (l *rekor) servePublicKey(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/x-pem-file")
	_, _ = w.Write(l.key.pem()) // the client has gone
}

// entryID returns the 16 hexadecimal digits of the tree and the 64 digits of the leaf.
func (l *rekor) entryID(leafHash []byte) string {
	return fmt.Sprintf("%016x%x", l.treeID, leafHash)
}

// entry returns a leaf with its proof in the present tree. The caller holds the lock.
func (l *rekor) entry(ctx context.Context, position int) (models.LogEntry, error) {
	leaf := l.leaves[position]
	index, logID := int64(position), hex.EncodeToString(l.key.id[:])
	said := models.LogEntryAnon{Body: leaf.body, IntegratedTime: &leaf.integrated, LogID: &logID, LogIndex: &index}
	promise, err := l.promise(ctx, said)
	if err != nil {
		return nil, err
	}
	inclusion, err := l.inclusion(ctx, position)
	if err != nil {
		return nil, err
	}
	// LogEntryAnon encodes a []byte body as base64, which the promise covers. The promise does not
	// cover the verification, which is added later.
	said.Verification = &models.LogEntryAnonVerification{InclusionProof: inclusion, SignedEntryTimestamp: promise}
	return models.LogEntry{l.entryID(leaf.hash): said}, nil
}

// promise returns the signed entry timestamp: over canonical JSON (RFC 8785) without verification.
func (l *rekor) promise(ctx context.Context, said models.LogEntryAnon) (strfmt.Base64, error) {
	encoded, err := said.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("encode entry: %w", err)
	}
	canonical, err := jsoncanonicalizer.Transform(encoded)
	if err != nil {
		return nil, fmt.Errorf("canonicalize entry: %w", err)
	}
	signed, err := l.signer.SignMessage(bytes.NewReader(canonical), options.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("sign entry: %w", err)
	}
	return signed, nil
}

func (l *rekor) inclusion(ctx context.Context, position int) (*models.InclusionProof, error) {
	size := l.tree.size()
	hashes, err := l.tree.inclusion(uint64(position), size) //nolint:gosec // a position is not negative
	if err != nil {
		return nil, fmt.Errorf("prove inclusion: %w", err)
	}
	root, checkpoint, err := l.checkpoint(ctx)
	if err != nil {
		return nil, err
	}
	index, treeSize, rootHash := int64(position), int64(size), hex.EncodeToString(root) //nolint:gosec // memory ends long before
	return &models.InclusionProof{
		Checkpoint: &checkpoint,
		Hashes:     hexAll(hashes),
		LogIndex:   &index,
		RootHash:   &rootHash,
		TreeSize:   &treeSize,
	}, nil
}

// checkpoint returns the root of the tree and its signed note. The origin ends in the tree's ID,
// which marks a version 1 checkpoint for verifiers. The caller holds the lock.
func (l *rekor) checkpoint(ctx context.Context) (root []byte, note string, err error) {
	size := l.tree.size()
	if root, err = l.tree.root(size); err != nil {
		return nil, "", err
	}
	signed, err := util.CreateAndSignCheckpoint(ctx, rekorHostname, l.treeID, size, root, l.signer)
	if err != nil {
		return nil, "", fmt.Errorf("sign checkpoint: %w", err)
	}
	return root, string(signed), nil
}

func hexAll(hashes [][]byte) []string {
	encoded := make([]string, len(hashes))
	for i, hash := range hashes {
		encoded[i] = hex.EncodeToString(hash)
	}
	return encoded
}
