package tufroot_test

import (
	"bytes"
	"errors"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata/fetcher"

	"github.com/polex-dev/polex/internal/sandbox/tufrepo"
	"github.com/polex-dev/polex/internal/tufroot"
	"github.com/polex-dev/polex/pkg/trust/publicgood"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// good is the expiry of the metadata in these tests.
var good = time.Now().Add(24 * time.Hour).UTC().Truncate(time.Second)

func repository(t *testing.T) *tufrepo.Repository {
	t.Helper()
	return must.Get(tufrepo.New(publicgood.TrustedRootJSON(), good))(t)
}

// source serves a repository on loopback.
func source(t *testing.T, r *tufrepo.Repository) tufroot.Source {
	t.Helper()
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return tufroot.Source{Mirror: server.URL, Root: r.Root(), Fetcher: fetcher.NewDefaultFetcher()}
}

func TestFetch(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("HOME", temporary)
	for _, name := range []string{"TUF_ROOT", "TUF_MIRROR", "SIGSTORE_ROOT_FILE", "TUF_ROOT_JSON"} {
		t.Setenv(name, "/nonexistent")
	}
	r := repository(t)
	s := source(t, r)
	fetched := must.Get(tufroot.Fetch(s))(t)
	expect.That(t, bytes.Equal(fetched.JSON, publicgood.TrustedRootJSON()) && fetched.Root.Logs(),
		"it is not the trusted root of the repository")
	expect.That(t, fetched.RootVersion == 1 && fetched.GoodUntil.Equal(good) && fetched.Mirror == s.Mirror,
		"version %d until %s of %s", fetched.RootVersion, fetched.GoodUntil, fetched.Mirror)
	// New metadata is fetched after any number of root rotations.
	for range 3 {
		must.Do(t, r.Rotate(good))
	}
	fresh := append(publicgood.TrustedRootJSON(), '\n')
	must.Do(t, r.Publish(fresh, good.Add(time.Hour)))
	fetched = must.Get(tufroot.Fetch(s))(t)
	if !bytes.Equal(fetched.JSON, fresh) || fetched.RootVersion != 4 || !fetched.GoodUntil.Equal(good.Add(time.Hour)) {
		t.Errorf("version %d until %s, %d bytes", fetched.RootVersion, fetched.GoodUntil, len(fetched.JSON))
	}
	expect.Empty(t, "left", must.Get(os.ReadDir(temporary))(t))
}

// TestFetchRefuses: Fetch never returns a root that is not signed by the root's keys, or that is expired.
func TestFetchRefuses(t *testing.T) {
	over := time.Now().Add(-time.Minute)
	publish := func(target []byte, until time.Time) func(*testing.T, *tufrepo.Repository) {
		return func(t *testing.T, r *tufrepo.Repository) { must.Do(t, r.Publish(target, until)) }
	}
	// flip changes a digit of a file's signature.
	flip := func(path string) func(*testing.T, *tufrepo.Repository) {
		return func(t *testing.T, r *tufrepo.Repository) {
			raw := bytes.Clone(r.File(path))
			i := bytes.Index(raw, []byte(`"sig":"`))
			must.That(t, i >= 0, "%s has no signature: %s", path, raw)
			digit := &raw[i+len(`"sig":"`)+3]
			*digit = map[bool]byte{true: '1', false: '0'}[*digit == '0']
			r.Replace(path, raw)
		}
	}
	newer := publicgood.TrustedRootJSON()
	newer = append(newer, '\n')
	strangers := func(path string) func(*testing.T, *tufrepo.Repository) {
		return func(t *testing.T, r *tufrepo.Repository) { r.Replace(path, repository(t).File(path)) }
	}
	for _, tc := range []struct {
		name string
		bend func(*testing.T, *tufrepo.Repository)
		want error
		text string
	}{
		{"an expired timestamp", publish(newer, over), tufroot.ErrExpired, "timestamp.json is expired"},
		{"an expired root", func(t *testing.T, r *tufrepo.Repository) {
			must.Do(t, r.Rotate(over))
		}, tufroot.ErrExpired, "root.json is expired"},
		{"a timestamp whose signature is wrong", flip("timestamp.json"), tufroot.ErrUntrusted, "unsigned metadata"},
		{"a snapshot whose signature is wrong", flip("1.snapshot.json"), tufroot.ErrUntrusted, "unsigned metadata"},
		{"targets whose signature is wrong", flip("1.targets.json"), tufroot.ErrUntrusted, "unsigned metadata"},
		{"a new root that the old one did not sign", func(t *testing.T, r *tufrepo.Repository) {
			other := repository(t)
			must.Do(t, other.Rotate(good))
			r.Replace("2.root.json", other.File("2.root.json"))
		}, tufroot.ErrUntrusted, "unsigned metadata"},
		{"a stranger's timestamp", strangers("timestamp.json"), tufroot.ErrUntrusted, "unsigned metadata"},
		{"a stranger's targets", strangers("1.targets.json"), tufroot.ErrUntrusted, "unsigned metadata"},
		{"a snapshot that goes back", func(t *testing.T, r *tufrepo.Repository) {
			publish(newer, good)(t, r)
			r.Replace("2.snapshot.json", r.File("1.snapshot.json"))
		}, tufroot.ErrUntrusted, "bad version number"},
		{"targets that go back", func(t *testing.T, r *tufrepo.Repository) {
			publish(newer, good)(t, r)
			r.Replace("2.targets.json", r.File("1.targets.json"))
		}, tufroot.ErrUntrusted, "bad version number"},
		{"a root that goes back", func(t *testing.T, r *tufrepo.Repository) { r.Replace("2.root.json", r.File("1.root.json")) }, tufroot.ErrUntrusted, "bad version number"},
		{"another target", func(_ *testing.T, r *tufrepo.Repository) {
			r.Replace(tufrepo.Path(publicgood.TrustedRootJSON()), newer)
		}, tufroot.ErrUntrusted, "larger than expected"},
		{"another target of the same length", func(_ *testing.T, r *tufrepo.Repository) {
			other := publicgood.TrustedRootJSON()
			other[len(other)/2] ^= 1
			r.Replace(tufrepo.Path(publicgood.TrustedRootJSON()), other)
		}, tufroot.ErrUntrusted, "hash"},
		{"no target", func(_ *testing.T, r *tufrepo.Repository) { r.Replace(tufrepo.Path(publicgood.TrustedRootJSON()), nil) }, nil, "404"},
		{"no timestamp", func(_ *testing.T, r *tufrepo.Repository) { r.Replace("timestamp.json", nil) }, nil, "404"},
		{"a page for a timestamp", func(_ *testing.T, r *tufrepo.Repository) { r.Replace("timestamp.json", []byte("<html>")) }, nil, "invalid character"},
		{"a timestamp without an end", func(_ *testing.T, r *tufrepo.Repository) {
			r.Replace("timestamp.json", bytes.Repeat([]byte(" "), 1<<20))
		}, tufroot.ErrUntrusted, "larger than expected"},
		{"a target that is no trusted root", publish([]byte("{}"), good), tufroot.ErrUnusable, "media type"},
		{"a trusted root of nobody", publish([]byte(`{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`), good), tufroot.ErrUnusable, "no certificate authority and no log"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := repository(t)
			s := source(t, r)
			tc.bend(t, r)
			fetched, err := tufroot.Fetch(s)
			expect.Failure(fetched, err)(t, tc.text, s.Mirror)
			for _, class := range []error{tufroot.ErrExpired, tufroot.ErrUntrusted, tufroot.ErrUnusable} {
				expect.Is(t, class.Error(), errors.Is(tc.want, class), errors.Is(err, class))
			}
		})
	}
}

// TestFetchSource: the caller selects the root and the address.
func TestFetchSource(t *testing.T) {
	r := repository(t)
	s := source(t, r)
	for _, tc := range []struct {
		name string
		bend func(*tufroot.Source)
		text string
	}{
		{"another repository's root", func(s *tufroot.Source) { s.Root = repository(t).Root() }, "unsigned metadata"},
		{"the public-good root", func(s *tufroot.Source) { s.Root = nil }, ""},
		{"no root", func(s *tufroot.Source) { s.Root = []byte{} }, "no initial trusted root"},
		{"a root that is none", func(s *tufroot.Source) { s.Root = []byte("{}") }, ""},
		{"no address", func(s *tufroot.Source) { s.Mirror = "tuf.example.com" }, "unsupported protocol scheme"},
		{"nobody there", func(s *tufroot.Source) { s.Mirror = "http://127.0.0.1:1" }, "refused"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bent := s
			tc.bend(&bent)
			expect.Failure(tufroot.Fetch(bent))(t, tc.text)
		})
	}
}

type fetch func(address string, most int64) ([]byte, error)

// DownloadFile calls the function.
func (f fetch) DownloadFile(address string, most int64, _ time.Duration) ([]byte, error) {
	return f(address, most)
}

// TestFetchAsks: Fetch sends requests to the mirror only, and reads no file beyond the limit.
func TestFetchAsks(t *testing.T) {
	r := repository(t)
	s := source(t, r)
	var asked []string
	inner := s.Fetcher
	s.Fetcher = fetch(func(address string, most int64) ([]byte, error) {
		path, ok := strings.CutPrefix(address, s.Mirror+"/")
		expect.That(t, ok && most <= 5_000_000, "asked for %d bytes of %s", most, address)
		asked = append(asked, path)
		return inner.DownloadFile(address, most, 0)
	})
	must.Get(tufroot.Fetch(s))(t)
	want := []string{"2.root.json", "timestamp.json", "1.snapshot.json", "1.targets.json", tufrepo.Path(publicgood.TrustedRootJSON())}
	expect.Equal(t, "files", want, asked)
}
