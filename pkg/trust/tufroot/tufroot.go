package tufroot

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/sigstore/sigstore-go/pkg/tuf"
	"github.com/theupdateframework/go-tuf/v2/metadata"

	"github.com/polex-dev/polex/pkg/trust"
)

// Target is the file name of the trusted root in a repository.
const Target = "trusted_root.json"

// PublicMirror is the address of the repository of the public-good Sigstore.
const PublicMirror = tuf.DefaultMirror

// MaxFile is the maximum size of any file of a repository, in bytes.
const MaxFile = 8 << 20

// The errors of [Fetch], besides those of a download.
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

// ErrNotFound is the error of a [Download] for a missing file.
var ErrNotFound = errors.New("there is no such file")

// Download returns the file at an address of the repository. most is the maximum size in bytes.
type Download func(address string, most int64) ([]byte, error)

// Source is a TUF repository.
type Source struct {
	// Mirror is the address of the repository; "" means [PublicMirror].
	Mirror string
	// Root is the JSON of the trusted TUF root metadata; nil means the built-in metadata of the
	// public-good Sigstore.
	Root []byte
	// Download downloads the files.
	Download Download
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
func Fetch(s Source) (fetched *Fetched, err error) {
	if s.Mirror == "" {
		s.Mirror = PublicMirror
	}
	if s.Root == nil {
		s.Root = tuf.DefaultRoot()
	}
	if u, err := url.Parse(s.Mirror); err != nil || u.Host == "" {
		return nil, fmt.Errorf("repository %q: it is not an address", s.Mirror)
	}
	dir, err := os.MkdirTemp("", "polex-tuf-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system cleans up the rest
	client, err := tuf.New(&tuf.Options{Root: s.Root, RepositoryBaseURL: s.Mirror, CachePath: dir, Fetcher: fetcher{s.Download}})
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", s.Mirror, classify(err))
	}
	raw, err := client.GetTarget(Target)
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", s.Mirror, classify(err))
	}
	root, err := trust.ParseRoot(raw, Target)
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w: %w", s.Mirror, ErrUnusable, err)
	}
	f := &Fetched{JSON: raw, Root: root, Mirror: s.Mirror}
	cached := filepath.Join(dir, tuf.URLToPath(s.Mirror))
	if f.RootVersion, _, err = signed(filepath.Join(cached, "root.json")); err != nil {
		return nil, err
	}
	_, f.GoodUntil, err = signed(filepath.Join(cached, "timestamp.json"))
	return f, err
}

// signed reads the version and expiry of a metadata file. The TUF client verified the file before
// it wrote it.
func signed(path string) (version int64, expires time.Time, err error) {
	raw, err := os.ReadFile(path) // #nosec G304 -- in our own folder
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("read metadata: %w", err)
	}
	var m struct {
		Signed struct {
			Version int64     `json:"version"`
			Expires time.Time `json:"expires"`
		} `json:"signed"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return 0, time.Time{}, fmt.Errorf("read metadata: %w", err)
	}
	return m.Signed.Version, m.Signed.Expires, nil
}

// classify wraps an error of go-tuf with one of the errors above.
func classify(err error) error {
	switch {
	case errors.Is(err, &metadata.ErrExpiredMetadata{}):
		return fmt.Errorf("%w: %w", ErrExpired, err)
	case errors.Is(err, &metadata.ErrRepository{}), errors.Is(err, &metadata.ErrValue{}), errors.Is(err, &metadata.ErrType{}),
		errors.Is(err, &metadata.ErrDownloadLengthMismatch{}):
		return fmt.Errorf("%w: %w", ErrUntrusted, err)
	default:
		return err
	}
}

// fetcher implements go-tuf's fetcher with a [Download].
type fetcher struct{ download Download }

// DownloadFile downloads a file. It ignores the timeout, which go-tuf deprecates.
func (f fetcher) DownloadFile(address string, most int64, _ time.Duration) ([]byte, error) {
	most = min(most, MaxFile)
	raw, err := f.download(address, most)
	if errors.Is(err, ErrNotFound) {
		// This status tells go-tuf that there is no newer root.
		return nil, &metadata.ErrDownloadHTTP{StatusCode: 404, URL: address}
	}
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) > most {
		return nil, &metadata.ErrDownloadLengthMismatch{Msg: fmt.Sprintf("%s has more than %d bytes", address, most)}
	}
	return raw, nil
}
