package sandbox_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/must"
)

// start runs a sandbox until the test ends.
func start(t *testing.T, opts sandbox.Options) *sandbox.Sandbox {
	t.Helper()
	if opts.Dir == "" {
		opts.Dir = t.TempDir()
	}
	s, err := sandbox.Start(t.Context(), opts)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
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
	token, err := s.Token(id, "sigstore")
	if err != nil {
		t.Fatalf("Token: %v", err)
	}
	return token
}

// send sends a request and returns status, headers and body.
func send(t *testing.T, method, url string, header http.Header, body io.Reader) (int, http.Header, []byte) {
	t.Helper()
	request := must.Get(http.NewRequestWithContext(t.Context(), method, url, body))(t)
	if header != nil {
		request.Header = header
	}
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return response.StatusCode, response.Header, answer
}
