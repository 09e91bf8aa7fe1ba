package sandbox

import (
	"context"
	"crypto"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/cyberphone/json-canonicalization/go/src/webpki.org/jsoncanonicalizer"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	rekortiles "github.com/sigstore/rekor-tiles/v2/pkg/generated/protobuf"
	"github.com/sigstore/rekor-tiles/v2/pkg/types/hashedrekord"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/transparency-dev/merkle/rfc6962"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
)

const (
	entriesV2Path = "/api/v2/log/entries"
	// rekorV2Hostname is the origin of the checkpoints. A verifier derives it from the log's
	// address in the trusted root.
	rekorV2Hostname = "127.0.0.1"
)

// clientAlgorithms are the default algorithms of Rekor's server.
var clientAlgorithms = []protocommon.PublicKeyDetails{
	protocommon.PublicKeyDetails_PKIX_RSA_PKCS1V15_2048_SHA256,
	protocommon.PublicKeyDetails_PKIX_RSA_PKCS1V15_3072_SHA256,
	protocommon.PublicKeyDetails_PKIX_RSA_PKCS1V15_4096_SHA256,
	protocommon.PublicKeyDetails_PKIX_ECDSA_P256_SHA_256,
	protocommon.PublicKeyDetails_PKIX_ECDSA_P384_SHA_384,
	protocommon.PublicKeyDetails_PKIX_ECDSA_P521_SHA_512,
	protocommon.PublicKeyDetails_PKIX_ED25519,
	protocommon.PublicKeyDetails_PKIX_ED25519_PH,
}

// rekorV2 is a transparency log with the API of Rekor's version 2. It accepts only hashedrekord
// 0.0.2, returns no time and no promise, and answers each upload with the proof of inclusion. The
// real log also publishes its tree as tiles, which nobody reads here.
type rekorV2 struct {
	key       *logKey
	signer    signature.Signer
	algorithm *signature.AlgorithmRegistryConfig

	mu     sync.Mutex
	tree   *merkleTree
	byHash map[string]uint64 // leaf hash in hexadecimal to index
}

func newRekorV2(key *logKey) (*rekorV2, error) {
	signer, err := signature.LoadECDSASigner(key.private, crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("load rekor v2 key: %w", err)
	}
	algorithm, err := signature.NewAlgorithmRegistryConfig(clientAlgorithms)
	if err != nil {
		return nil, fmt.Errorf("algorithms of rekor v2: %w", err)
	}
	return &rekorV2{key: key, signer: signer, algorithm: algorithm, tree: newMerkleTree(), byHash: map[string]uint64{}}, nil
}

func (l *rekorV2) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+entriesV2Path, l.serveCreate)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "SERVING"})
	})
	return mux
}

// duplicateError is the index of an equal entry in the log.
type duplicateError struct{ index uint64 }

func (e *duplicateError) Error() string {
	return fmt.Sprintf("an equivalent entry already exists in the transparency log with index %d", e.index)
}

// serveCreate adds an entry. Rekor's own type verifies its signature.
func (l *rekorV2) serveCreate(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		gatewayError(w, http.StatusBadRequest, codes.InvalidArgument, err.Error())
		return
	}
	var request rekortiles.CreateEntryRequest
	if err := protojson.Unmarshal(body, &request); err != nil {
		gatewayError(w, http.StatusBadRequest, codes.InvalidArgument, err.Error())
		return
	}
	if request.GetHashedRekordRequestV002() == nil {
		gatewayError(w, http.StatusBadRequest, codes.InvalidArgument, "invalid type, must be hashedrekord")
		return
	}
	entry, err := hashedrekord.ToLogEntry(request.GetHashedRekordRequestV002(), l.algorithm)
	if err != nil {
		gatewayError(w, http.StatusBadRequest, codes.InvalidArgument, "invalid hashedrekord request")
		return
	}
	leaf, err := canonicalEntry(entry)
	if err != nil {
		gatewayError(w, http.StatusBadRequest, codes.InvalidArgument, "invalid entry")
		return
	}
	logged, err := l.add(r.Context(), leaf)
	var duplicate *duplicateError
	switch {
	case errors.As(err, &duplicate):
		w.Header().Set("X-Log-Index", strconv.FormatUint(duplicate.index, 10))
		gatewayError(w, http.StatusConflict, codes.AlreadyExists, err.Error())
		return
	case err != nil:
		gatewayError(w, http.StatusInternalServerError, codes.Unknown, "failed to integrate entry")
		return
	}
	logged.KindVersion = &protorekor.KindVersion{Kind: entry.GetKind(), Version: entry.GetApiVersion()}
	answer, err := protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(logged)
	if err != nil {
		gatewayError(w, http.StatusInternalServerError, codes.Unknown, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(answer) // the client has gone
}

// canonicalEntry returns canonical JSON (RFC 8785), which a verifier can reproduce.
func canonicalEntry(entry *rekortiles.Entry) ([]byte, error) {
	encoded, err := protojson.Marshal(entry)
	if err != nil {
		return nil, fmt.Errorf("encode entry: %w", err)
	}
	return jsoncanonicalizer.Transform(encoded)
}

// add adds a body to the tree and returns its proof, or a *duplicateError if the body exists.
func (l *rekorV2) add(ctx context.Context, body []byte) (*protorekor.TransparencyLogEntry, error) {
	hash := rfc6962.DefaultHasher.HashLeaf(body)
	l.mu.Lock()
	defer l.mu.Unlock()
	if index, ok := l.byHash[hex.EncodeToString(hash)]; ok {
		return nil, &duplicateError{index}
	}
	index, err := l.tree.append(hash)
	if err != nil {
		return nil, err
	}
	l.byHash[hex.EncodeToString(hash)] = index
	size := l.tree.size()
	root, err := l.tree.root(size)
	if err != nil {
		return nil, err
	}
	hashes, err := l.tree.inclusion(index, size)
	if err != nil {
		return nil, fmt.Errorf("prove inclusion: %w", err)
	}
	note, err := l.checkpoint(ctx, size, root)
	if err != nil {
		return nil, err
	}
	at, of := int64(index), int64(size) //nolint:gosec // memory ends long before
	return &protorekor.TransparencyLogEntry{
		LogIndex:          at,
		LogId:             &protocommon.LogId{KeyId: l.key.id[:]},
		CanonicalizedBody: body,
		InclusionProof: &protorekor.InclusionProof{LogIndex: at, TreeSize: of, RootHash: root, Hashes: hashes,
			Checkpoint: &protorekor.Checkpoint{Envelope: note}},
	}, nil
}

// gatewayError writes an error in the format of Rekor's gateway, which is gRPC's status.
func gatewayError(w http.ResponseWriter, httpStatus int, code codes.Code, message string) {
	answer, err := protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(status.New(code, message).Proto())
	if err != nil {
		http.Error(w, message, httpStatus)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(httpStatus)
	_, _ = w.Write(answer) // the client has gone
}
