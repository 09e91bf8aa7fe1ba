package tufrepo

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/theupdateframework/go-tuf/v2/metadata"
)

// Target is the name of the only target in a repository.
const Target = "trusted_root.json"

// Repository is a TUF repository. It serves its files over HTTP.
type Repository struct {
	mu      sync.Mutex
	keys    map[string]signature.Signer // by role
	version int64
	root    *metadata.Metadata[metadata.RootType]
	files   map[string][]byte // by path, without the leading slash
	first   []byte
}

// New creates a repository that contains the target, with metadata that is valid until a time.
func New(target []byte, until time.Time) (*Repository, error) {
	r := &Repository{keys: map[string]signature.Signer{}, files: map[string][]byte{}, root: metadata.Root(until)}
	for _, role := range metadata.TOP_LEVEL_ROLE_NAMES {
		if err := r.addKey(role); err != nil {
			return nil, err
		}
	}
	if err := r.publishRoot(r.keys[metadata.ROOT]); err != nil {
		return nil, err
	}
	r.first = r.files["1.root.json"]
	return r, r.Publish(target, until)
}

// addKey adds a new key to a role.
func (r *Repository) addKey(role string) error {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return fmt.Errorf("generate key of %s: %w", role, err)
	}
	key, err := metadata.KeyFromPublicKey(public)
	if err != nil {
		return fmt.Errorf("key of %s: %w", role, err)
	}
	if err := r.root.Signed.AddKey(key, role); err != nil {
		return fmt.Errorf("key of %s: %w", role, err)
	}
	r.keys[role], err = signature.LoadSigner(private, crypto.Hash(0))
	return err
}

func (r *Repository) publishRoot(signers ...signature.Signer) error {
	r.root.ClearSignatures()
	raw, err := signed(r.root, signers...)
	r.files[fmt.Sprintf("%d.root.json", r.root.Signed.Version)] = raw
	return err
}

func signed[T metadata.Roles](m *metadata.Metadata[T], signers ...signature.Signer) ([]byte, error) {
	for _, s := range signers {
		if _, err := m.Sign(s); err != nil {
			return nil, fmt.Errorf("sign metadata: %w", err)
		}
	}
	raw, err := m.ToBytes(false)
	if err != nil {
		return nil, fmt.Errorf("write metadata: %w", err)
	}
	return raw, nil
}

// Publish replaces the target. All metadata except the root gets a new version, valid until a time.
func (r *Repository) Publish(target []byte, until time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version++
	targets, snapshot, timestamp := metadata.Targets(until), metadata.Snapshot(until), metadata.Timestamp(until)
	targets.Signed.Version, snapshot.Signed.Version, timestamp.Signed.Version = r.version, r.version, r.version
	file, err := metadata.TargetFile().FromBytes(Target, target, "sha256")
	if err != nil {
		return fmt.Errorf("describe target: %w", err)
	}
	targets.Signed.Targets[Target] = file
	snapshot.Signed.Meta["targets.json"] = metadata.MetaFile(r.version)
	timestamp.Signed.Meta["snapshot.json"] = metadata.MetaFile(r.version)

	r.files[Path(target)] = target
	if r.files[fmt.Sprintf("%d.targets.json", r.version)], err = signed(targets, r.keys[metadata.TARGETS]); err != nil {
		return err
	}
	if r.files[fmt.Sprintf("%d.snapshot.json", r.version)], err = signed(snapshot, r.keys[metadata.SNAPSHOT]); err != nil {
		return err
	}
	r.files["timestamp.json"], err = signed(timestamp, r.keys[metadata.TIMESTAMP])
	return err
}

// Path returns the path of a target with this content.
func Path(target []byte) string {
	return fmt.Sprintf("targets/%x.%s", sha256.Sum256(target), Target)
}

// Rotate publishes a new root with a new root key, signed by the old one too.
func (r *Repository) Rotate(until time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.keys[metadata.ROOT]
	for _, id := range append([]string(nil), r.root.Signed.Roles[metadata.ROOT].KeyIDs...) {
		if err := r.root.Signed.RevokeKey(id, metadata.ROOT); err != nil {
			return fmt.Errorf("revoke key: %w", err)
		}
	}
	if err := r.addKey(metadata.ROOT); err != nil {
		return err
	}
	r.root.Signed.Version++
	r.root.Signed.Expires = until
	return r.publishRoot(old, r.keys[metadata.ROOT])
}

// Root returns the first root metadata, the start of trust for a client.
func (r *Repository) Root() []byte { return r.first }

// File returns the content at a path, such as timestamp.json, or nil.
func (r *Repository) File(path string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.files[path]
}

// Replace changes the content at a path; nil removes it.
func (r *Repository) Replace(path string, content []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files[path] = content
}

// ServeHTTP returns the file at the path.
func (r *Repository) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	content := r.File(strings.TrimPrefix(request.URL.Path, "/"))
	if content == nil {
		http.NotFound(w, request)
		return
	}
	_, _ = w.Write(content) // the client has gone
}
