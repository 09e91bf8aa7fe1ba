package request

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/apiserver"
	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestServer reads a collection page by page, from the whole cluster or from one namespace.
func TestServer(t *testing.T) {
	var asked []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		switch next := r.URL.Query().Get("continue"); {
		case strings.HasPrefix(r.URL.Path, "/apis/absent/"):
			http.NotFound(w, r)
		case r.URL.Path == "/apis/forbidden/v1":
			_, _ = fmt.Fprint(w, `{"resources":[{"name":"reports"}]}`)
		case r.URL.Path == "/apis/silent/v1":
			http.Error(w, "no", http.StatusForbidden)
		case r.URL.Path == "/apis/unserved/v1":
			http.NotFound(w, r)
		case strings.HasPrefix(r.URL.Path, "/apis/forbidden/"), strings.HasPrefix(r.URL.Path, "/apis/silent/"), strings.HasPrefix(r.URL.Path, "/apis/unserved/"):
			http.Error(w, "no", http.StatusForbidden)
		case strings.HasPrefix(r.URL.Path, "/apis/odd/"):
			_, _ = fmt.Fprint(w, "<html>")
		case next == "":
			_, _ = fmt.Fprint(w, `{"apiVersion":"apps/v1","kind":"DeploymentList","metadata":{"continue":"2"},"items":[{"metadata":{"name":"a","managedFields":[1]},"spec":{"replicas":3,"x":1.5}}]}`)
		default:
			_, _ = fmt.Fprint(w, `{"apiVersion":"apps/v1","kind":"DeploymentList","metadata":{},"items":[{"metadata":{"name":"b"}},{"metadata":{"name":"c"}}]}`)
		}
	}))
	defer api.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	must.Do(t, os.WriteFile(kubeconfig, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: a
clusters: [{name: a, cluster: {server: %q}}]
contexts: [{name: a, context: {cluster: a}}]
`, api.URL), 0o600))
	s := must.Get(apiserver.Open(kubeconfig, ""))(t)
	for _, tc := range []struct {
		namespace, version, name string
		path                     string
		served                   bool
		fails                    bool
	}{
		{namespace: "team-a", version: "apps/v1", name: "deployments", path: "GET /apis/apps/v1/namespaces/team-a/deployments", served: true},
		{version: "apps/v1", name: "deployments", path: "GET /apis/apps/v1/deployments", served: true},
		{version: "v1", name: "nodes", path: "GET /api/v1/nodes", served: true},
		{version: "absent/v1", name: "reports", path: "GET /apis/absent/v1/reports"},
		{version: "forbidden/v1", name: "reports", path: "GET /apis/forbidden/v1/reports", served: true, fails: true},
		{version: "silent/v1", name: "reports", path: "GET /apis/silent/v1/reports", served: true, fails: true},
		// An API server also answers "forbidden" for a kind that it does not serve.
		{version: "forbidden/v1", name: "clusterreports", path: "GET /apis/forbidden/v1/clusterreports"},
		{version: "unserved/v1", name: "reports", path: "GET /apis/unserved/v1/reports"},
		{version: "odd/v1", name: "reports", path: "GET /apis/odd/v1/reports", served: true, fails: true},
	} {
		asked = nil
		var names []string
		served, err := each(t.Context(), s, collections(tc.version, tc.name)[0], tc.namespace, func(doc *exception.Document) error {
			names = append(names, doc.Identity().String())
			_, there := doc.Lookup("metadata", "managedFields")
			expect.That(t, !there, "managedFields are kept")
			return nil
		})
		expect.That(t, served == tc.served && (err != nil) == tc.fails && asked[0] == tc.path,
			"%s: served %v, %v, want %s", asked, served, err, tc.path)
		if want := []string{"Deployment.apps a", "Deployment.apps b", "Deployment.apps c"}; tc.served && !tc.fails && !slices.Equal(names, want) {
			t.Errorf("%s: %q", tc.path, names)
		}
	}
}

// TestReasons: every reason of the command has its own line, from which docs/reference/reasons.md is generated.
func TestReasons(t *testing.T) {
	own := []string{reasonDrafted, reasonThere, reasonLive, reasonInTheWay, reasonNoViolations, reasonNote}
	for _, reason := range request.Reasons() {
		own = append(own, reason.Name)
	}
	for _, reason := range own {
		if !slices.ContainsFunc(reasons(shape.Config{}), func(r exception.Reason) bool { return r.Name == reason && r.Doc != "" }) {
			t.Errorf("%s has no line of its own", reason)
		}
	}
}
