package apiserver_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/polex-dev/polex/internal/apiserver"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestRefused: an answer above the size limit is an error, and a refusal contains the server's
// message. polex does not wait for a busy server, and stops after the maximum number of pages.
func TestRefused(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Warning", `299 - "said to whoever runs it"`)
		switch filepath.Base(r.URL.Path) {
		case "large":
			line := bytes.Repeat([]byte(" "), 1<<20)
			for range 65 {
				_, _ = w.Write(line)
			}
		case "endless":
			_, _ = fmt.Fprint(w, `{"apiVersion":"v1","kind":"PodList","metadata":{"continue":"more"},"items":[]}`)
		case "refused":
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": "not for you", "reason": "Forbidden", "code": 403}`)
		case "busy":
			w.Header().Set("Retry-After", "86400")
			http.Error(w, "later", http.StatusServiceUnavailable)
		default:
			http.Error(w, "<html>", http.StatusBadGateway)
		}
	}))
	defer api.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	must.Do(t, os.WriteFile(kubeconfig, []byte("apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: "+api.URL+"}}]\ncontexts: [{name: a, context: {cluster: a}}]\n"), 0o600))
	s := must.Get(apiserver.Open(kubeconfig, ""))(t)
	for resource, want := range map[string]string{
		"large":   "an answer is larger than 64 MiB",
		"endless": "there are more than 250000 objects",
		"refused": "not for you",
		"broken":  "an error on the server",
		"busy":    "the server is currently unable",
	} {
		_, err := s.Each(t.Context(), schema.GroupVersionResource{Version: "v1", Resource: resource}, "", func(*unstructured.Unstructured) error { return nil })
		if err == nil || !strings.HasPrefix(err.Error(), want) || apierrors.IsForbidden(err) != (resource == "refused") {
			t.Errorf("%s: %v", resource, err)
		}
	}
	_, err := s.Versions(t.Context(), "large")
	expect.That(t, err != nil && err.Error() == "an answer is larger than 64 MiB", "versions: %v", err)
	_, err = apiserver.Open(kubeconfig, "b")
	expect.That(t, err != nil, "a context that is not there is opened")
}
