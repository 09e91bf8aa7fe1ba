package tufroot

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sigstore/sigstore-go/pkg/tuf"
	"github.com/theupdateframework/go-tuf/v2/metadata"
	"github.com/theupdateframework/go-tuf/v2/metadata/fetcher"

	"github.com/polex-dev/polex/pkg/trust"
)

// Target is the file name of the trusted root in a repository.
const Target = "trusted_root.json"

// PublicMirror is the address of the repository of the public-good Sigstore.
const PublicMirror = tuf.DefaultMirror

// The errors of [Fetch], besides those of the fetcher.
var (
	// ErrExpired means that the metadata has expired. The repository is not maintained, an attacker
	// withholds newer metadata, or the clock is wrong.
	ErrExpired = errors.New("the repository's metadata has expired")
	// ErrUntrusted means that a file differs from the signed metadata, that the metadata lacks the
	// signatures that the TUF root requires, or that a version went back.
	ErrUntrusted = errors.New("the repository is not trusted")
	// ErrUnusable means that the content of the repository is not a usable trusted root.
	ErrUnusable = errors.New("the content of the repository is invalid")
)

// Source is a TUF repository.
type Source struct {
	// Mirror is the address of the repository; "" means [PublicMirror].
	Mirror string
	// Root is the JSON of the trusted TUF root metadata; nil means the built-in metadata of the
	// public-good Sigstore.
	Root []byte
	// Fetcher downloads the files. go-tuf limits metadata to 5 MB, and the target to its signed
	// length.
	Fetcher fetcher.Fetcher
}

// Fetched is a verified trusted root from a TUF repository.
type Fetched struct {
	JSON   []byte // the file's bytes
	Root   *trust.Root
	Mirror string
	// RootVersion is the version of the TUF root metadata.
	RootVersion int64
	// GoodUntil is the expiry of the timestamp metadata. Until then the repository guarantees that
	// there is no newer version.
	GoodUntil time.Time
}

// Fetch fetches and verifies the trusted root of a repository. It returns [ErrExpired],
// [ErrUntrusted], [ErrUnusable], or another error if a download fails.
func Fetch(s Source) (*Fetched, error) {
	f := &Fetched{Mirror: cmp.Or(s.Mirror, PublicMirror)}
	if s.Root == nil {
		s.Root = tuf.DefaultRoot()
	}
	dir, err := os.MkdirTemp("", "polex-tuf-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system cleans up the rest
	options := &tuf.Options{Root: s.Root, RepositoryBaseURL: f.Mirror, CachePath: dir, Fetcher: s.Fetcher}
	if err := f.fetch(options); err != nil {
		return nil, fmt.Errorf("repository %s: %w", f.Mirror, classify(err))
	}
	return f, nil
}

func (f *Fetched) fetch(o *tuf.Options) error {
	client, err := tuf.New(o)
	if err != nil {
		return err
	}
	if f.JSON, err = client.GetTarget(Target); err != nil {
		return err
	}
	if f.Root, err = trust.ParseRoot(f.JSON, Target); err != nil {
		return fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	cached := filepath.Join(o.CachePath, tuf.URLToPath(f.Mirror)) // the client verified these files
	root, err := metadata.Root().FromFile(filepath.Join(cached, "root.json"))
	if err != nil {
		return err
	}
	timestamp, err := metadata.Timestamp().FromFile(filepath.Join(cached, "timestamp.json"))
	if err != nil {
		return err
	}
	f.RootVersion, f.GoodUntil = root.Signed.Version, timestamp.Signed.Expires
	return nil
}

// classify wraps an error of go-tuf with one of the errors above.
func classify(err error) error {
	switch {
	case errors.Is(err, &metadata.ErrExpiredMetadata{}):
		return fmt.Errorf("%w: %w", ErrExpired, err)
	case errors.Is(err, &metadata.ErrRepository{}), errors.Is(err, &metadata.ErrValue{}),
		errors.Is(err, &metadata.ErrType{}),
		errors.Is(err, &metadata.ErrDownloadLengthMismatch{}):
		return fmt.Errorf("%w: %w", ErrUntrusted, err)
	default:
		return err
	}
}
