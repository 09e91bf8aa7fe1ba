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

// Target is the name of the trusted root in a repository.
const Target = "trusted_root.json"

// PublicMirror is the repository of the public-good Sigstore.
const PublicMirror = tuf.DefaultMirror

// MaxFile is the most bytes of any file of a repository.
const MaxFile = 8 << 20

// What a fetch fails for, beside a repository that cannot be reached.
var (
	// ErrExpired says that the metadata's time is over: the repository is not
	// kept up, somebody holds back what is newer, or the clock is wrong.
	ErrExpired = errors.New("the repository's metadata has expired")
	// ErrUntrusted says that a file is not what the metadata signs, that the
	// metadata is not signed by whom the root names, or that a version goes back.
	ErrUntrusted = errors.New("the repository is not to be trusted")
	// ErrUnusable says that what the repository holds is no trusted root that
	// could verify anything.
	ErrUnusable = errors.New("the content of the repository is invalid")
)

// ErrNotFound is what a [Download] returns for a file that is not there.
var ErrNotFound = errors.New("there is no such file")

// Download gets the file at an address of the repository, of at most so many bytes.
type Download func(address string, most int64) ([]byte, error)

// Source is a TUF repository.
type Source struct {
	// Mirror is the address of the repository; "" means [PublicMirror].
	Mirror string
	// Root is the JSON of the TUF root metadata that its keys are trusted for;
	// nil means the public-good Sigstore's, which is built in.
	Root []byte
	// Download gets its files.
	Download Download
}

// Fetched is a trusted root that a TUF repository vouches for.
type Fetched struct {
	JSON   []byte // as the repository has it
	Root   *trust.Root
	Mirror string
	// RootVersion is the version of the TUF root metadata that signs all of it.
	RootVersion int64
	// GoodUntil is the time until which the repository promises that there is
	// nothing newer.
	GoodUntil time.Time
}

// Fetch gets the trusted root of a repository. It returns [ErrExpired],
// [ErrUntrusted], [ErrUnusable], or another error when a file could not be got.
func Fetch(s Source) (fetched *Fetched, err error) {
	if s.Mirror == "" {
		s.Mirror = PublicMirror
	}
	if s.Root == nil {
		s.Root = tuf.DefaultRoot()
	}
	if u, err := url.Parse(s.Mirror); err != nil || u.Host == "" {
		return nil, fmt.Errorf("repository %q: it is no address", s.Mirror)
	}
	dir, err := os.MkdirTemp("", "polex-tuf-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left is the system's to clean
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

// signed reads what a file of metadata says of itself. It was verified before it
// was written here.
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

// classify says which of the errors above an error of go-tuf is.
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

// fetcher lets go-tuf get files with a [Download].
type fetcher struct{ download Download }

// DownloadFile gets a file. The timeout is not used: go-tuf says so.
func (f fetcher) DownloadFile(address string, most int64, _ time.Duration) ([]byte, error) {
	most = min(most, MaxFile)
	raw, err := f.download(address, most)
	if errors.Is(err, ErrNotFound) {
		// The status tells go-tuf that there is no newer root.
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
