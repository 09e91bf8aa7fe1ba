package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/must"
)

// start runs a sandbox until the test ends.
func start(t *testing.T, opts sandbox.Options) *sandbox.Sandbox {
	t.Helper()
	if opts.Dir == "" {
		opts.Dir = t.TempDir()
	}
	s := must.Get(sandbox.Start(t.Context(), opts))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// mint returns a token for id, which must be valid.
func mint(t *testing.T, s *sandbox.Sandbox, id sandbox.Identity) string {
	t.Helper()
	return must.Get(s.Token(id, "sigstore"))(t)
}

// send sends a request and returns status, headers and body.
func send(t *testing.T, method, url string, header http.Header, body io.Reader) (int, http.Header, []byte) {
	t.Helper()
	request := must.Get(http.NewRequestWithContext(t.Context(), method, url, body))(t)
	if header != nil {
		request.Header = header
	}
	client := http.Client{Timeout: 10 * time.Second}
	response := must.Get(client.Do(request))(t) // an error names the method and the address
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode, response.Header, must.Get(io.ReadAll(response.Body))(t)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(path))(t))
}

func TestManyInOneProcess(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 4 {
		dir := t.TempDir()
		wg.Go(func() {
			s, err := sandbox.Start(t.Context(), sandbox.Options{Dir: dir})
			if err != nil {
				t.Errorf("sandbox %d: %v", i, err)
				return
			}
			defer s.Close()
			token, err := s.Token(sandbox.Identity{}, "sigstore")
			if err != nil {
				t.Errorf("sandbox %d: %v", i, err)
				return
			}
			if err := certify(t, s, token); err != nil {
				t.Errorf("sandbox %d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

func TestCloseFreesThePorts(t *testing.T) {
	s := must.Get(sandbox.Start(t.Context(), sandbox.Options{Dir: t.TempDir()}))(t)
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	for _, address := range []string{s.FulcioURL, s.RekorURL, s.RekorV2URL, s.TimestampURL, s.CTLogURL, s.IssuerURL} {
		u := must.Get(url.Parse(address))(t)
		l, err := net.Listen("tcp4", u.Host)
		if err != nil {
			t.Errorf("%s is not free: %v", address, err)
			continue
		}
		l.Close()
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "control.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the secret is still there: %v", err)
	}
	if _, err := os.Stat(s.TrustedRootPath); err != nil {
		t.Errorf("the trusted root is gone: %v", err)
	}
}

// A request that never ends must not block Close.
func TestCloseIsBounded(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	s := must.Get(sandbox.Start(t.Context(), sandbox.Options{
		Dir: t.TempDir(),
		Intercept: func(server string, next http.Handler) http.Handler {
			if server != sandbox.ServerRekor {
				return next
			}
			return http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				close(entered)
				<-release
			})
		},
	}))(t)
	go func() {
		client := http.Client{Timeout: time.Minute}
		if response, err := client.Get(s.RekorURL); err == nil {
			response.Body.Close()
		}
	}()
	<-entered
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Errorf("Close: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("Close waits for a request that does not end")
	}
}

func TestIntercept(t *testing.T) {
	var names []string
	s := start(t, sandbox.Options{Intercept: func(server string, next http.Handler) http.Handler {
		names = append(names, server)
		if server != sandbox.ServerTimestamp {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	}})
	slices.Sort(names)
	if diff := cmp.Diff([]string{"ctlog", "fulcio", "issuer", "rekor", "rekor-v2", "timestamp"}, names); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if status, _, _ := send(t, http.MethodPost, s.TimestampURL, nil, nil); status != http.StatusServiceUnavailable {
		t.Errorf("status %d, want 503", status)
	}
	if err := certify(t, s, mint(t, s, sandbox.Identity{})); err != nil {
		t.Errorf("the others: %v", err)
	}
}

func TestRequestLog(t *testing.T) {
	var out bytes.Buffer
	s := must.Get(sandbox.Start(t.Context(), sandbox.Options{Dir: t.TempDir(), Log: &out}))(t)
	send(t, http.MethodGet, s.RekorURL+"/api/v1/log/entries/%0Aforged", nil, nil)
	must.Do(t, s.Close())
	if want := "polex-sandbox: rekor: GET /api/v1/log/entries/%0Aforged 400 "; !strings.Contains(out.String(), want) {
		t.Errorf("log lacks %q:\n%s", want, out.String())
	}
}

func TestStartRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	running := start(t, sandbox.Options{})
	for name, opts := range map[string]sandbox.Options{
		"no folder":        {},
		"folder is a file": {Dir: file},
		"folder in use":    {Dir: running.Dir},
		"version of Rekor": {Dir: t.TempDir(), RekorVersions: []int{1, 3}},
		"repository":       {Dir: t.TempDir(), Identity: sandbox.Identity{Repository: "acme"}},
		"short ref":        {Dir: t.TempDir(), Identity: sandbox.Identity{Ref: "main"}},
		"newline":          {Dir: t.TempDir(), Identity: sandbox.Identity{EventName: "push\nx: y"}},
	} {
		s, err := sandbox.Start(t.Context(), opts)
		if err == nil {
			s.Close()
			t.Errorf("%s: started", name)
		}
	}
	if err := certify(t, running, mint(t, running, sandbox.Identity{})); err != nil {
		t.Errorf("the running one was disturbed: %v", err)
	}
}

func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	for i := 0; b.Loop(); i++ {
		s := must.Get(sandbox.Start(b.Context(), sandbox.Options{Dir: filepath.Join(dir, fmt.Sprint(i))}))(b)
		must.Do(b, s.Close())
	}
}
