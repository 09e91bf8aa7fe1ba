package apiserver_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/polex-dev/polex/internal/apiserver"
)

// TestGet: an answer that is too large is an error, and a refusal is one in the server's
// words where it has some.
func TestGet(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			line := bytes.Repeat([]byte(" "), 1<<20)
			for range 65 {
				_, _ = w.Write(line)
			}
		case "/refused":
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, `{"kind": "Status", "message": "not for you"}`)
		default:
			http.Error(w, "<html>", http.StatusBadGateway)
		}
	}))
	defer api.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte("apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: "+api.URL+"}}]\ncontexts: [{name: a, context: {cluster: a}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := apiserver.Open(kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct {
		says string
		code int
	}{
		"/large":   {"an answer is larger than 64 MiB", 0},
		"/refused": {"not for you", http.StatusForbidden},
		"/broken":  {"the API server answers 502 Bad Gateway", http.StatusBadGateway},
	} {
		_, err := s.Get(t.Context(), path, nil)
		if err == nil || err.Error() != want.says || want.code != 0 && !apiserver.Is(err, want.code) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := apiserver.Open(kubeconfig, "b"); err == nil {
		t.Error("a context that is not there is opened")
	}
}
