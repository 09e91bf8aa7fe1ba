//go:build e2e

package gitops

import (
	"net/http"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/argocd"
	"github.com/polex-dev/polex/test/must"
)

// TestArgoCDBeforeTheGuard: Argo CD applies signed exceptions. The guard rejects each other one
// with its reason, which the Application shows, and the rest is still applied. Argo CD applies the
// repairing commit without help.
func TestArgoCDBeforeTheGuard(t *testing.T) {
	sealed := seal(t, draft("honest"), newer("native"), draft("later"))
	r := newRepository(t, "guarded", map[string]string{
		"signed/README.md": "signed\n", "signed/honest.yaml": sealed[0], "signed/team/native.yaml": sealed[1],
		"signed/run.jsonnet": program, // is not run
	})
	guarded(t)
	deployed(t, "argocd/application.yaml", r)

	watched(t, "the first sync", func(a *argocd.Application) bool { return a.Sync.Status == "Synced" })
	holds(t, "honest", "native")

	files, gone := map[string]string{"signed/later.yaml": sealed[2]}, map[string]string{}
	wrong := refused(t)
	for name, file := range wrong {
		files["signed/"+name+".yaml"], gone["signed/"+name+".yaml"] = file.text, ""
	}
	commit := r.commit(t, files)
	refresh(t)
	found := watched(t, "the sync to fail", func(a *argocd.Application) bool {
		return a.OperationState != nil && a.OperationState.SyncResult.Revision == commit && a.OperationState.RetryCount > 0
	})
	reasons := map[string]string{}
	for _, result := range found.OperationState.SyncResult.Resources {
		reasons[result.Name] = result.Status + ": " + result.Message
	}
	for name, file := range wrong {
		says(t, reasons[name], "SyncFailed", "guard.polex.dev", "["+file.reason+"]")
	}
	says(t, found.OperationState.Message, "one or more objects failed to apply")
	holds(t, "honest", "native", "later")

	commit = r.commit(t, gone)
	synced(t, commit)
	holds(t, "honest", "native", "later")
	// Exceptions that are removed from Git are deleted, the last one too.
	commit = r.commit(t, map[string]string{"signed/honest.yaml": "", "signed/team/native.yaml": "", "signed/later.yaml": ""})
	refresh(t)
	synced(t, commit)
	holds(t)
}

// other is not an exception.
const other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: " + where + "}\n"

// kustomized is a file with instructions for kustomize.
const kustomized = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [honest.yaml]\nnamePrefix: x-\n"

// program becomes an exception if Argo CD runs it.
const program = `{apiVersion: 'kyverno.io/v2', kind: 'PolicyException', metadata: {name: 'run', namespace: '` + where + `'}, spec: {exceptions: [{policyName: 'p', ruleNames: ['r']}], match: {any: [{resources: {kinds: ['Pod']}}]}}}`

// TestArgoCDAppliesNothingElse: Argo CD applies only exceptions. The project forbids other objects,
// and so do the permissions of the applying account.
func TestArgoCDAppliesNothingElse(t *testing.T) {
	r := newRepository(t, "other", map[string]string{"signed/honest.yaml": seal(t, draft("honest"))[0], "signed/other.yaml": other})
	deployed(t, "argocd/application.yaml", r)
	says(t, watched(t, "the sync to fail", failed).Said(), "resource :ConfigMap is not permitted in project exceptions")
	absent(t, "/api/v1/namespaces/"+where+"/configmaps/other")

	cleared(t)
	text := example(t, "argocd/application.yaml", r)
	wider := strings.Replace(text, "    - {group: kyverno.io, kind: PolicyException}", "    - {group: '*', kind: '*'}", 1)
	if wider == text {
		t.Fatal("the project names no kyverno.io")
	}
	apply(t, wider)
	says(t, watched(t, "the sync to fail", failed).Said(), "configmaps", "forbidden", "system:serviceaccount:argocd:exceptions-sync")
	absent(t, "/api/v1/namespaces/"+where+"/configmaps/other")
}

func failed(a *argocd.Application) bool {
	return a.OperationState != nil && (a.OperationState.RetryCount > 0 || a.OperationState.Phase == "Failed" || a.OperationState.Phase == "Error")
}

// absent fails if an object exists at a path.
func absent(t *testing.T, path string) {
	t.Helper()
	answer := must.Get(live.Get(t.Context(), path))(t)
	if answer.Code != http.StatusNotFound {
		t.Fatalf("%s is there: %d: %s", path, answer.Code, answer.Message())
	}
}
