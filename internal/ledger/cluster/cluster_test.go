package cluster_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/apiserver"
	"github.com/polex-dev/polex/internal/ledger/cluster"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// apiServer imitates an API server: it lists the served versions, and objects in pages of two. The items have no kind.
type apiServer struct {
	versions map[string][]string // by group, the preferred version first
	names    map[string][]string // by group
	items    func(apiVersion, name string) map[string]any
	refuse   string // a forbidden path
	lacks    string // a version without exceptions
	asked    []string
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked = append(s.asked, r.URL.Path)
	answer := func(status int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
	failure := func(status int, reason string) {
		answer(status, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": reason + " to the auditor", "code": status})
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/apis/"), "/")
	versions := s.versions[parts[0]]
	switch {
	case r.URL.Path == s.refuse:
		failure(http.StatusForbidden, "Forbidden")
	case versions == nil:
		failure(http.StatusNotFound, "NotFound")
	case len(parts) == 1:
		var all []map[string]any
		for _, v := range versions {
			all = append(all, map[string]any{"groupVersion": parts[0] + "/" + v, "version": v})
		}
		answer(http.StatusOK, map[string]any{"kind": "APIGroup", "versions": all, "preferredVersion": all[0]})
	case len(parts) == 2 && slices.Contains(versions, parts[1]):
		resources := []any{map[string]any{"name": "policyexceptions"}}
		if r.URL.Path == s.lacks {
			resources = nil
		}
		answer(http.StatusOK, map[string]any{"kind": "APIResourceList", "resources": resources})
	case len(parts) == 3 && parts[2] == "policyexceptions" && slices.Contains(versions, parts[1]):
		names, from, next := s.names[parts[0]], 0, ""
		fmt.Sscan(r.URL.Query().Get("continue"), &from)
		to := min(from+2, len(names))
		if to < len(names) {
			next = fmt.Sprint(to)
		}
		items := []any{}
		for _, name := range names[from:to] {
			items = append(items, s.items(parts[0]+"/"+parts[1], name))
		}
		answer(http.StatusOK, map[string]any{"kind": "PolicyExceptionList", "metadata": map[string]any{"continue": next}, "items": items})
	default:
		failure(http.StatusNotFound, "NotFound")
	}
}

func plainItem(_, name string) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": name, "namespace": "platform"}}
}

// reach opens a server on loopback.
func reach(t *testing.T, s *apiServer) *apiserver.Server {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: " + server.URL + "}}]\nusers: [{name: a, user: {token: x}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return must.Get(apiserver.Open(path, ""))(t)
}

// read reads the exceptions of a server, and returns their versions and names.
func read(t *testing.T, s *apiServer) (names string, unreadable []string, err error) {
	t.Helper()
	var all []string
	unreadable, err = cluster.Read(t.Context(), reach(t, s), func(doc *exception.Document) error {
		all = append(all, doc.APIVersion()+" "+doc.Identity().Name)
		return nil
	})
	return strings.Join(all, ", "), unreadable, err
}

func TestReadCluster(t *testing.T) {
	both := map[string][]string{"kyverno.io": {"v2", "v2beta1"}, "policies.kyverno.io": {"v1", "v1beta1"}}
	for name, tc := range map[string]struct {
		server apiServer
		want   string
		fails  string
	}{
		"pages of both groups": {
			server: apiServer{versions: both, names: map[string][]string{"kyverno.io": {"a", "b", "c", "d", "e"}, "policies.kyverno.io": {"x"}}},
			want:   "kyverno.io/v2 a, kyverno.io/v2 b, kyverno.io/v2 c, kyverno.io/v2 d, kyverno.io/v2 e, policies.kyverno.io/v1 x"},
		"one group":  {server: apiServer{versions: map[string][]string{"policies.kyverno.io": {"v1"}}, names: map[string][]string{"policies.kyverno.io": {"x"}}}, want: "policies.kyverno.io/v1 x"},
		"none there": {server: apiServer{versions: both}},
		"no kyverno": {server: apiServer{}, fails: "it serves exceptions of neither group"},
		"forbidden":  {server: apiServer{versions: both, refuse: "/apis/policies.kyverno.io/v1/policyexceptions"}, fails: "policies.kyverno.io: Forbidden to the auditor"},
		// An API server also forbids a collection that it does not have.
		"forbidden and not served": {
			server: apiServer{versions: map[string][]string{"kyverno.io": {"v2"}, "policies.kyverno.io": {"v1"}}, names: map[string][]string{"kyverno.io": {"a"}},
				refuse: "/apis/policies.kyverno.io/v1/policyexceptions", lacks: "/apis/policies.kyverno.io/v1"},
			want: "kyverno.io/v2 a"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.server.items = plainItem
			names, unreadable, err := read(t, &tc.server)
			if tc.fails != "" {
				expect.Error(t, err, tc.fails)
				return
			}
			expect.That(t, err == nil && names == tc.want && len(unreadable) == 0, "%s, %q, %v", names, unreadable, err)
		})
	}
}

// TestVersions: an object is read in its signed version, if that is served. Anybody can write the
// version in a message, so it only selects one of the served versions and causes no other request.
func TestVersions(t *testing.T) {
	for signed, want := range map[string]string{"v2": "kyverno.io/v2 a", "v2beta1": "kyverno.io/v2beta1 a", "v9": "kyverno.io/v2 a"} {
		t.Run(signed, func(t *testing.T) {
			message := fmt.Sprintf("apiVersion: kyverno.io/%s\nkind: PolicyException\nmetadata:\n  name: a\n  namespace: platform\n", signed)
			s := &apiServer{versions: map[string][]string{"kyverno.io": {"v2", "v2beta1"}}, names: map[string][]string{"kyverno.io": {"a"}}}
			s.items = func(apiVersion, name string) map[string]any {
				doc, err := exception.Parse([]byte("apiVersion: "+apiVersion+"\nkind: PolicyException\nmetadata:\n  name: "+name+"\n  namespace: platform\n"), "object")
				must.Do(t, err)
				sealed := must.Get(seal.Attach(doc, &seal.Seal{Message: []byte(message),
					Signatures: []seal.Signature{{Signature: []byte("x")}}}))(t)
				return sealed.Object()
			}
			names, _, err := read(t, s)
			expect.That(t, err == nil && names == want, "%s, %v", names, err)
			for _, path := range s.asked {
				expect.That(t, !strings.Contains(path, "v9"), "it asks for %s", path)
			}
		})
	}
}

func TestParse(t *testing.T) {
	const item = `{"apiVersion": "kyverno.io/v2", "kind": "PolicyException", "metadata": {"name": "a", "namespace": "b"}}`
	for name, tc := range map[string]struct {
		text            string
		objects, broken int
		fails           bool
	}{
		"JSON":                  {text: `{"apiVersion": "v1", "kind": "List", "items": [` + item + `]}`, objects: 1},
		"YAML":                  {text: "apiVersion: v1\nkind: List\nitems:\n- apiVersion: kyverno.io/v2\n  kind: PolicyException\n  metadata: {name: a, namespace: b}\n", objects: 1},
		"other YAML":            {text: "kind: List\nitems: [{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: a, namespace: b}}]\n", objects: 1},
		"indented YAML":         {text: "kind: List\nitems:\n  - apiVersion: kyverno.io/v2\n    kind: PolicyException\n    metadata: {name: a, namespace: b}\n", objects: 1},
		"kubectl's YAML":        {text: "apiVersion: v1\nitems:\n- apiVersion: kyverno.io/v2\n  kind: PolicyException\n  metadata:\n    name: a\n    namespace: b\n\n- apiVersion: v1\n  kind: Pod\n- apiVersion: kyverno.io/v2\n  kind: PolicyException\n  metadata: {name: b, namespace: b}\nkind: List\nmetadata:\n  resourceVersion: \"\"\n", objects: 2},
		"two documents":         {text: "kind: List\nitems:\n- " + item + "\n---\nkind: List\nitems: []\n", fails: true},
		"more documents":        {text: "kind: List\nitems:\n- " + item + "\n...\n---\nkind: List\nitems: []\n", fails: true},
		"a document in an item": {text: "kind: List\nitems:\n- " + item + "\n ---\n  a: b\n", fails: true},
		"a key in capitals":     {text: `{"kind": "List", "items": [` + strings.Replace(item, `"metadata"`, `"KIND": "Pod", "metadata"`, 1) + `]}`, objects: 1},
		"items twice":           {text: "kind: List\nitems:\n- " + item + "\nitems:\n- " + item + "\n", fails: true},
		"JSON keys twice":       {text: `{"kind": "List", "items": [], "items": [` + item + `]}`, fails: true},
		"JSON and more":         {text: `{"kind": "List", "items": []} {"kind": "List"}`, fails: true},
		"items of one":          {text: `{"kind": "List", "items": ` + item + `}`, fails: true},
		"a typed list":          {text: `{"kind": "PolicyExceptionList", "items": [` + item + `]}`, objects: 1},
		"no exceptions":         {text: `{"kind": "List", "items": []}`},
		"a broken object":       {text: `{"kind": "List", "items": [` + item + `, {"a": 1, "a": 2}]}`, objects: 1, broken: 1},
		"nothing":               {text: "\n", fails: true},
		"null items":            {text: `{"kind": "List", "items": null}`, fails: true},
		"a report":              {text: `{"kind": "PolicyReport", "results": []}`, fails: true},
		"a list of reports":     {text: `{"kind": "List", "items": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}]}`, fails: true},
		"an exception":          {text: item, fails: true},
		"keys twice":            {text: "kind: List\nitems: []\nkind: List\n", fails: true},
		"no YAML":               {text: "kind: [", fails: true},
		"cut off":               {text: `{"kind": "List", "items": [`, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			objects := 0
			c, err := cluster.Parse(strings.NewReader(tc.text), false, func(*exception.Document) error {
				objects++
				return nil
			})
			must.That(t, (err != nil) == tc.fails, "%v", err)
			if err == nil && (objects != tc.objects || len(c.Unreadable) != tc.broken) {
				t.Errorf("%d objects, %q", objects, c.Unreadable)
			}
		})
	}
}
