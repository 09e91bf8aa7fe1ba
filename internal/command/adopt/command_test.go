package adopt_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/command/adopt"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/test/must"
)

// TestKubeconfig: --kubeconfig adopts what the cluster has, and nothing else.
func TestKubeconfig(t *testing.T) {
	answers := map[string]string{
		"/apis/kyverno.io": `{"kind": "APIGroup", "versions": [{"groupVersion": "kyverno.io/v2", "version": "v2"}]}`,
		"/apis/kyverno.io/v2/policyexceptions": `{"kind": "PolicyExceptionList", "metadata": {}, "items": [{"metadata": {"name": "live", "namespace": "team-a",
			"uid": "1"}, "spec": {"match": {"any": [{"resources": {"kinds": ["Pod"], "namespaces": ["data"], "names": ["x"]}}]},
			"exceptions": [{"policyName": "p", "ruleNames": ["r"]}]}}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, known := answers[r.URL.Path]
		if !known {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"kubeconfig": "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: " +
			server.URL +
			"}}]\nusers: [{name: a, user: {token: x}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n",
		"old.yaml": "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: old, namespace: team-a}\n",
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "--all"}, {"-c", "user.name=a", "-c", "user.email=a@b",
		"commit", "--quiet", "-m", "one"}} {
		must.Run(t, exec.Command("git", args...))
	}
	var out bytes.Buffer
	command := adopt.New(cli.Streams{In: strings.NewReader(""), Out: &out, Err: io.Discard, Now: time.Now})
	command.SetArgs([]string{"--kubeconfig", "kubeconfig"})
	must.Do(t, command.Execute())
	if _, err := os.Stat("unsigned/team-a/live.yaml"); err != nil {
		t.Error(err)
	}
	answers["/apis/kyverno.io/v2/policyexceptions"] = `{"kind": "PolicyExceptionList", "metadata": {}, "items": [{"metadata": {"name": "x", "namespace": "x"},
		"spec": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}]}`
	command.SetArgs([]string{"--kubeconfig", "kubeconfig", "--dry-run"})
	if err := command.Execute(); err == nil || !strings.Contains(err.Error(), "read the cluster: object 1") {
		t.Errorf("an object that cannot be read: %v", err)
	}
	if _, err := os.Stat("old.yaml"); err != nil || !strings.Contains(out.String(), "[not-deployed]") {
		t.Errorf("%v: %s", err, &out)
	}
}
