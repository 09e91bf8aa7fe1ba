//go:build e2e

package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// Kyverno's definitions of exceptions.
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"

// TestUnchanged: an object that is written back unchanged, in any version, is stored, even an
// unsigned one. The re-check still reports that one. A change is verified.
func TestUnchanged(t *testing.T) {
	ns := namespace(t)
	unsigned := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}
	create(t, unsigned, draft{name: "unsigned", namespace: ns}.legacy("v2")).want(t, http.StatusCreated)
	i := settings{}.run(t)
	i.register(t)
	for n, in := range served {
		in.Namespace = ns
		name := fmt.Sprintf("signed-%d", n)
		create(t, in, seal(t, draft{name: name, namespace: ns}.in(in))[0]).want(t, http.StatusCreated)
		for _, shown := range served {
			if shown.Group == in.Group {
				shown.Namespace = ns
				putBack(t, shown, name, strings.NewReplacer()).want(t, http.StatusOK)
				putBack(t, shown, name, strings.NewReplacer("require-probes", "require-limits")).refusedFor(t, "altered")
			}
		}
	}
	putBack(t, unsigned, "unsigned", strings.NewReplacer()).want(t, http.StatusOK)
	i.until(t, "the re-check to find it", contains(fmt.Sprintf(reports, ns), `"rule":"unsigned"`))
}

// putBack reads an object in a version, and writes it back with replacements.
func putBack(t *testing.T, target cluster.Target, name string, replace *strings.Replacer) response {
	t.Helper()
	there := read(t, target.Path(name))
	there.want(t, http.StatusOK)
	return do(t, cluster.Request{Method: http.MethodPut, Path: target.Path(name), ContentType: "application/json", Body: []byte(replace.Replace(string(there.Body)))})
}

const noWriter = "is not among those who may write exceptions"

// TestMigration: after an upgrade, Kyverno moves exceptions to the storage version of their
// definition. That succeeds, also for an account that is not a writer.
func TestMigration(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	ns := namespace(t)
	for _, target := range []cluster.Target{served[1], served[2]} { // not the storage versions
		target.Namespace = ns
		create(t, target, seal(t, draft{name: "kept", namespace: ns}.in(target))[0]).want(t, http.StatusCreated)
	}
	writers := mustKubectl(t, "", "kustomize", fixture.FromRoot("policies/rbac/base"))
	apply(t, writers)
	t.Cleanup(func() { unprotect(t, writers) })
	until(t, "nobody to be a writer", func(ctx context.Context) error {
		answer, err := live.DryRun(ctx, cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}, []byte(draft{name: "nobodys", namespace: ns}.legacy("v2")))
		if err == nil && !bytes.Contains(answer.Body, []byte(noWriter)) {
			err = errors.New(answer.Message())
		}
		return err
	})
	// An account that is not a writer changes nothing, not even an allowed annotation.
	kept := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}
	for what, replace := range map[string]*strings.Replacer{
		"a policy": strings.NewReplacer("require-probes", "require-limits"), "a note of kubectl's": strings.NewReplacer(`"annotations":{`, `"annotations":{"argocd.argoproj.io/tracking-id":"a",`),
		"a label":     strings.NewReplacer(`"metadata":{`, `"metadata":{"labels":{"app.kubernetes.io/instance":"a"},`),
		"an owner":    strings.NewReplacer(`"metadata":{`, `"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"1"}],`),
		"a finalizer": strings.NewReplacer(`"metadata":{`, `"metadata":{"finalizers":["a.b/c"],`),
	} {
		if answer := putBack(t, kept, "kept", replace); answer.OK() || !strings.Contains(answer.Message(), noWriter) {
			t.Errorf("%s: %d: %s", what, answer.Code, answer.Message())
		}
	}
	for crd, versions := range map[string]string{
		"policyexceptions.kyverno.io":          `["v2beta1","v2"]`,
		"policyexceptions.policies.kyverno.io": `["v1","v1beta1"]`,
	} {
		merge(t, definitions+crd+"/status", `{"status":{"storedVersions":`+versions+`}}`).want(t, http.StatusOK)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		out, err := exec.CommandContext(ctx, fixture.FromRoot(binaries+"/kubectl-kyverno"), "migrate", "--kubeconfig", live.Kubeconfig(), "--resource", crd).CombinedOutput()
		cancel()
		expect.That(t, err == nil && bytes.Contains(out, []byte("patching status...")), "%s: %v\n%s", crd, err, out)
	}
}

// TestUninstall: the commands of each page end with success, also if a part was never installed, and
// leave nothing of the guard: no object, no namespace, no report. They delete no report of another
// tool. This is the last test of the package, because it ends a controller of the cluster.
func TestUninstall(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	must.Do(t, live.StartControllers(ctx, "namespace-controller"))
	for _, tc := range []struct {
		page, heading, installed string
		protected                bool
	}{
		{page: installPage, heading: "### Uninstall with kustomize", installed: installation{overlay: "self-managed"}.build(t), protected: true},
		{page: installPage, heading: "### Uninstall with kustomize", installed: installation{overlay: "self-managed"}.build(t)},
		{page: staticPage, heading: "## Uninstall", installed: built(t, "overlays/static"), protected: true},
		// After helm uninstall.
		{page: installPage, heading: "### Uninstall with Helm", installed: namespaceOf(t, installation{overlay: "self-managed"}.build(t))},
	} {
		dir := t.TempDir()
		protect := administrators{users: `["admin"]`, groups: "[]"}.build(t)
		for path, text := range map[string]string{
			"kustomization.yaml": "resources: [installed.yaml]\n", "installed.yaml": tc.installed,
			"protect/kustomization.yaml": "resources: [policies.yaml]\n", "protect/policies.yaml": protect,
		} {
			path = filepath.Join(dir, path)
			must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
			must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		}
		for name, target := range map[string]string{"policies": fixture.FromRoot("policies"), "kubectl": fixture.Kubectl()} {
			must.Do(t, os.Symlink(target, filepath.Join(dir, name)))
		}
		apply(t, tc.installed)
		if tc.protected {
			apply(t, protect)
		}
		const reports = "/apis/wgpolicyk8s.io/v1alpha2/namespaces/default/policyreports"
		for _, name := range []string{"polex-guard", "other"} {
			report := fmt.Appendf(nil,
				"{apiVersion: wgpolicyk8s.io/v1alpha2, kind: PolicyReport, metadata: {name: %s}}", name)
			post(t, reports, report).want(t, http.StatusCreated)
		}
		page := must.Get(os.ReadFile(fixture.FromRoot(tc.page)))(t)
		section := regexp.MustCompile(`(?s)\n` + tc.heading + `\n(.*?)(\n##+ |$)`).FindSubmatch(page)
		must.That(t, section != nil, "%s has no section %q", tc.page, tc.heading)
		commands := regexp.MustCompile(`(?m)^ *(kubectl delete .*)$`).FindAllSubmatch(section[1], -1)
		must.That(t, len(commands) >= 3, "%s has %d commands", tc.page, len(commands))
		for _, c := range commands {
			cmd := exec.CommandContext(t.Context(), "sh", "-ec", string(c[1]))
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "KUBECONFIG="+live.Kubeconfig())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %s: %v\n%s", tc.page, c[1], err, out)
			}
		}
		for _, o := range append(objectsOf(t, tc.installed), objectsOf(t, protect)...) {
			args := []string{"get", "--ignore-not-found", "-o", "name", o.GetKind(), o.GetName()}
			if ns := o.GetNamespace(); ns != "" {
				args = append(args, "--namespace", ns)
			}
			out, err := kubectl(t, "", args...)
			expect.That(t, err == nil && out == "", "%s leaves %s: %v", tc.page, out, err)
		}
		read(t, reports+"/polex-guard").want(t, http.StatusNotFound)
		remove(t, reports+"/other").want(t, http.StatusOK)
	}
}
