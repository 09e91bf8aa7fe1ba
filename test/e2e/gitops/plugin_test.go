//go:build e2e

package gitops

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/test/e2e/argocd"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/flux"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestPlugin: Argo CD renders only verified documents. If one file is rejected, nothing is applied,
// even without a guard, and the Application shows the reason.
func TestPlugin(t *testing.T) {
	startPlugin(t)
	sealed := seal(t, draft("honest"), newer("native"), draft("later"))
	r := newRepository(t, "plugin", map[string]string{
		"signed/README.md": "signed\n", "signed/honest.yaml": "# a remark\n" + sealed[0], "signed/team/native.yaml": sealed[1],
	})
	apply(t, example(t, "argocd/application.yaml", r)) // for its project
	deployed(t, "argocd/plugin/application.yaml", r)
	watched(t, "the first sync", func(a *argocd.Application) bool { return a.Sync.Status == "Synced" })
	holds(t, "honest", "native")
	asSigned(t, exceptions, "honest", sealed[0])
	asSigned(t, native, "native", sealed[1])

	wrong := refused(t)
	wrong["jsonnet"] = struct{ text, reason string }{program, "unexpected-file"} // Argo CD would run it itself
	for name, file := range wrong {
		t.Run(name, func(t *testing.T) {
			path := name + ".yaml"
			if name == "jsonnet" {
				path = "run.jsonnet"
			}
			r.commit(t, map[string]string{"signed/later.yaml": sealed[2], "signed/" + path: file.text})
			refresh(t)
			rendersNothing(t, path, "["+file.reason+"]")
			holds(t, "honest", "native")
			commit := r.commit(t, map[string]string{"signed/later.yaml": "", "signed/" + path: ""})
			refresh(t)
			watched(t, "it to be calm again", func(a *argocd.Application) bool {
				return a.Sync.Status == "Synced" && a.Sync.Revision == commit && len(a.Conditions) == 0
			})
		})
	}
	t.Run("kustomization", func(t *testing.T) {
		r.commit(t, map[string]string{"signed/kustomization.yaml": kustomized})
		refresh(t)
		rendersNothing(t, "kustomization.yaml", "[unexpected-file]")
		holds(t, "honest", "native")
		r.commit(t, map[string]string{"signed/kustomization.yaml": ""})
	})
	t.Run("an end", func(t *testing.T) { endsUnnoticed(t, r) })
	t.Run("another application", func(t *testing.T) { notWidened(t, r) })
}

// endsUnnoticed: Argo CD caches a rendered commit, so it does not notice an expiry until it renders
// again. So the plugin does not replace the guard.
func endsUnnoticed(t *testing.T, r repository) {
	short := sealing{behind: 45 * time.Second}.seal(t, lasting("short", "1m"))[0]
	commit := r.commit(t, map[string]string{"signed/short.yaml": short})
	synced(t, commit)
	doc := must.Get(exception.Parse([]byte(short), "short"))(t)
	life := must.Get(lifetime.Of(doc, lifetime.Terms{}))(t)
	watched(t, "another look after the end", func(a *argocd.Application) bool {
		looked, err := time.Parse(time.RFC3339, a.ReconciledAt)
		return err == nil && looked.After(life.ExpiresAt) && a.Sync.Status == "Synced"
	})
	holds(t, "honest", "native", "short")
	refresh(t)
	rendersNothing(t, "short.yaml", "[expired]")
	r.commit(t, map[string]string{"signed/short.yaml": ""})
	refresh(t)
	until(t, "what has ended to be gone", func(ctx context.Context) error { return storedAre(ctx, "honest", "native") })
}

// notWidened: fields of an Application other than the repository and the path cannot change the trusted signers.
func notWidened(t *testing.T, r repository) {
	policy := strings.ReplaceAll(trustPolicy(t), "acme/exceptions", "acme/other")
	r.commit(t, map[string]string{
		"other/elsewhere.yaml":    sealing{by: sandbox.Identity{Repository: "acme/other", RepositoryID: "1001"}}.seal(t, draft("elsewhere"))[0],
		"trust/trust.yaml":        policy,
		"trust/trusted_root.json": trustedRoot(t),
		".polex.yaml":             strings.Replace(policy, "trusted_root.json", "trust/trusted_root.json", 1),
	})
	// The test is only useful if that policy would accept the file.
	checkout := t.TempDir()
	git(t, "clone", "--quiet", r.url, checkout)
	verify := exec.CommandContext(t.Context(), filepath.Join(folder, "polex-verify"), "--config", filepath.Join(checkout, "trust/trust.yaml"), filepath.Join(checkout, "other"))
	must.Run(t, verify)
	application := strings.Replace(example(t, "argocd/plugin/application.yaml", r), "path: signed", "path: other", 1)
	widened := strings.Replace(application, "plugin: {name: polex}", `plugin:
      name: polex
      env: [{name: POLEX_CONFIG, value: ../trust/trust.yaml}, {name: config, value: ../trust/trust.yaml}, {name: PATH, value: .}]
      parameters: [{name: config, string: ../trust/trust.yaml}, {name: args, array: [--config, ../trust/trust.yaml]}]`, 1)
	must.That(t, widened != application, "the Application names no plugin")
	apply(t, widened)
	refresh(t)
	rendersNothing(t, "elsewhere.yaml", "[wrong-identity]")
	holds(t, "honest", "native")
}

// rendersNothing waits until the Application has a comparison error with these reasons.
func rendersNothing(t *testing.T, reasons ...string) {
	t.Helper()
	watched(t, "nothing to be rendered", func(a *argocd.Application) bool {
		for _, c := range a.Conditions {
			if c.Type == "ComparisonError" && containsAll(c.Message, reasons) {
				return true
			}
		}
		return false
	})
}

func containsAll(text string, wanted []string) bool {
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			return false
		}
	}
	return true
}

// startPlugin runs the plugin as in the patched Deployment of the repository server: with the
// ConfigMap's plugin.yaml and the paths of its mounts.
func startPlugin(t *testing.T) {
	t.Helper()
	apply(t, configMap(t, argocd.Namespace, "polex-plugin", map[string]string{
		"plugin.yaml": example(t, "argocd/plugin/plugin.yaml", repository{}), "trust.yaml": trustPolicy(t), "trusted_root.json": trustedRoot(t),
	}))
	sidecar, mounted := patchedSidecar(t)
	diff := cmp.Diff([]string{"/var/run/argocd/argocd-cmp-server"}, sidecar.Command)
	must.That(t, diff == "", "the container's command (-want +got):\n%s", diff)
	config := mounted["/home/argocd/cmp-server/config/plugin.yaml"]
	text := must.Get(os.ReadFile(config))(t)
	substituted := strings.NewReplacer("/etc/polex/", mounted["/etc/polex"]+"/", "/usr/local/bin/", folder+"/").Replace(string(text))
	must.Do(t, argo.StartPlugin(context.Background(), argocd.Plugin{Name: "polex", Config: []byte(substituted)}))
}

// patchedSidecar patches Argo CD's Deployment as the README says. It returns the new container, and
// its mounts as folders and files of this machine.
func patchedSidecar(t *testing.T) (found container, mounted map[string]string) {
	t.Helper()
	source := must.Get(argocd.Source(t.Context(), fixture.FromRoot(argocdTool)))(t)
	shipped := must.Get(os.ReadFile(filepath.Join(source,
		"manifests/base/repo-server/argocd-repo-server-deployment.yaml")))(t)
	apply(t, strings.Replace(string(shipped), "metadata:\n", "metadata:\n  namespace: argocd\n", 1))
	patch := must.Get(yaml.YAMLToJSON([]byte(example(t, "argocd/plugin/argocd-repo-server.yaml", repository{}))))(t)
	var deployment struct {
		Spec struct{ Template pod }
	}
	must.Do(t, cluster.Into(&deployment)(live.Do(t.Context(), cluster.Request{Method: http.MethodPatch,
		Path:        "/apis/apps/v1/namespaces/argocd/deployments/argocd-repo-server?fieldValidation=Strict",
		ContentType: "application/strategic-merge-patch+json", Body: patch})))
	template := deployment.Spec.Template
	must.That(t, len(template.Spec.Containers) == 2, "it has %d containers", len(template.Spec.Containers))
	template.Metadata.Namespace = argocd.Namespace
	for i, v := range template.Spec.Volumes {
		if v.ConfigMap != nil && v.ConfigMap.Name != "polex-plugin" {
			template.Spec.Volumes[i].ConfigMap = nil // Argo CD's own
		}
	}
	folders := template.volumes(t)
	mounted = map[string]string{}
	for _, c := range template.Spec.Containers {
		if c.Name != "polex" {
			continue
		}
		found = c
		for _, m := range c.VolumeMounts {
			must.That(t, folders[m.Name] != "", "the container mounts a volume %s that is not there", m.Name)
			mounted[m.MountPath] = filepath.Join(folders[m.Name], m.SubPath)
		}
	}
	return found, mounted
}

// asSigned fails unless the object in the cluster verifies and equals the signed one.
func asSigned(t *testing.T, target cluster.Target, name, sealed string) {
	t.Helper()
	answer := must.Get(live.Get(t.Context(), target.Path(name)))(t)
	dir := t.TempDir()
	policy := filepath.Join(dir, "trust.yaml")
	for path, text := range map[string]string{policy: trustPolicy(t), filepath.Join(dir, "trusted_root.json"): trustedRoot(t)} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	emitted := func(text string) string {
		verify := exec.CommandContext(t.Context(), filepath.Join(folder, "polex-verify"), "--config", policy, "--emit=signed", "-")
		verify.Stdin = strings.NewReader(text)
		return must.Output(t, verify)
	}
	expect.Equal(t, name+" in the cluster (-signed +there)", emitted(sealed), emitted(string(answer.Body)))
}

// git runs git.
func git(t *testing.T, args ...string) {
	t.Helper()
	must.Run(t, exec.CommandContext(t.Context(), "git", args...))
}

// TestArgoCDBeforeTheGuard: Argo CD applies signed exceptions. The guard rejects each other one with its reason, which
// the Application shows, and the rest is still applied. Argo CD applies the repairing commit without help.
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
		expect.Contains(t, reasons[name], "SyncFailed", "guard.polex.dev", "["+file.reason+"]")
	}
	expect.Contains(t, found.OperationState.Message, "one or more objects failed to apply")
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
	expect.Contains(t, watched(t, "the sync to fail", failed).Said(), "resource :ConfigMap is not permitted in project exceptions")
	absent(t, "/api/v1/namespaces/"+where+"/configmaps/other")

	cleared(t)
	text := example(t, "argocd/application.yaml", r)
	wider := strings.Replace(text, "    - {group: kyverno.io, kind: PolicyException}", "    - {group: '*', kind: '*'}", 1)
	must.That(t, wider != text, "the project names no kyverno.io")
	apply(t, wider)
	expect.Contains(t, watched(t, "the sync to fail", failed).Said(), "configmaps", "forbidden", "system:serviceaccount:argocd:exceptions-sync")
	absent(t, "/api/v1/namespaces/"+where+"/configmaps/other")
}

func failed(a *argocd.Application) bool {
	return a.OperationState != nil && (a.OperationState.RetryCount > 0 || a.OperationState.Phase == "Failed" || a.OperationState.Phase == "Error")
}

// absent fails if an object exists at a path.
func absent(t *testing.T, path string) {
	t.Helper()
	must.Do(t, fixture.Exists(t.Context(), live, path, false))
}

// TestFluxBeforeTheGuard: Flux applies signed exceptions. The guard's rejection stops a commit with
// any other content as a whole, with the reason, until it is repaired.
func TestFluxBeforeTheGuard(t *testing.T) {
	f := startFlux(t, false)
	guarded(t)
	sealed := seal(t, draft("honest"), newer("native"), draft("later"))
	r := newRepository(t, "flux", nil)
	apply(t, example(t, "flux/exceptions.yaml", repository{})) // the source controller is not running
	t.Cleanup(func() { withdraw(t, f) })
	// ends publishes a commit with files, which has this status.
	ends := func(files map[string]string, status string, wanted ...string) {
		t.Helper()
		commit := r.commit(t, files)
		archive := must.Get(remote.Archive(t.Context(), r.name, commit, "signed"))(t)
		must.Do(t, f.Publish(t.Context(), where, "exceptions", commit, archive))
		applied(t, f, commit, status, wanted...)
	}

	ends(map[string]string{"signed/README.md": "signed\n", "signed/honest.yaml": sealed[0], "signed/team/native.yaml": sealed[1]}, "True")
	holds(t, "honest", "native")
	for name, file := range refused(t) {
		t.Run(name, func(t *testing.T) {
			ends(map[string]string{"signed/later.yaml": sealed[2], "signed/" + name + ".yaml": file.text}, "False", where+"/"+name, "guard.polex.dev", "["+file.reason+"]")
			holds(t, "honest", "native")
			ends(map[string]string{"signed/later.yaml": "", "signed/" + name + ".yaml": ""}, "True")
		})
	}
	t.Run("kustomization", func(t *testing.T) {
		ends(map[string]string{"signed/kustomization.yaml": kustomized}, "False", "guard.polex.dev", "[altered]")
		ends(map[string]string{"signed/kustomization.yaml": ""}, "True")
	})
	t.Run("something else", func(t *testing.T) {
		ends(map[string]string{"signed/other.yaml": other}, "False", "configmaps", "forbidden", "system:serviceaccount:"+where+":exceptions-sync")
		absent(t, "/api/v1/namespaces/"+where+"/configmaps/other")
		ends(map[string]string{"signed/other.yaml": ""}, "True")
	})
	ends(map[string]string{"signed/honest.yaml": ""}, "True")
	holds(t, "native")
}

// applied waits until Flux has tried a commit, or any if it is "", with this status and message.
func applied(t *testing.T, f *flux.Flux, commit, status string, wanted ...string) {
	t.Helper()
	until(t, "Flux to be done with "+commit, func(ctx context.Context) error {
		k, err := f.Kustomization(ctx, where, "exceptions")
		if err != nil {
			return err
		}
		ready, message := k.Condition("Ready")
		if !strings.Contains(k.LastAttemptedRevision, commit) || ready != status || !containsAll(message, wanted) {
			return fmt.Errorf("it is %s at %s: %s", ready, k.LastAttemptedRevision, message)
		}
		return nil
	})
}

// startFlux runs kustomize-controller until the test ends, and source-controller if it has to fetch.
func startFlux(t *testing.T, fetch bool) *flux.Flux {
	t.Helper()
	dir := t.TempDir()
	f := must.Get(flux.Start(context.Background(), flux.Options{Binaries: fixture.FromRoot(binaries),
		Tools: fixture.FromRoot(tools), Dir: dir, Cluster: live, Fetch: fetch}))(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(f.Logs())
		}
		expect.NoError(t, f.Close())
	})
	return f
}

// withdraw deletes Flux's objects, and so their applied objects.
func withdraw(t *testing.T, f *flux.Flux) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	for _, path := range []string{
		"/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/" + where + "/kustomizations/exceptions",
		"/apis/source.toolkit.fluxcd.io/v1/namespaces/" + where + "/gitrepositories/exceptions",
		"/apis/source.toolkit.fluxcd.io/v1/namespaces/" + where + "/ocirepositories/exceptions",
		exceptions.Path(""), native.Path(""),
	} {
		_, err := live.Delete(ctx, path)
		expect.NoError(t, err)
	}
	err := f.Until(ctx, "the exceptions to be gone", func(ctx context.Context) error { return storedAre(ctx) })
	expect.NoError(t, err)
}
