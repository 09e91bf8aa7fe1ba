//go:build e2e

package guard

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
)

// TestUninstall: the commands of each page end with success, also if a part was never installed, and
// leave nothing of the guard: no object, no namespace, no report. They delete no report of another
// tool.
func TestUninstall(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	if err := live.StartControllers(ctx, "namespace-controller"); err != nil {
		t.Fatal(err)
	}
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
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for name, target := range map[string]string{"policies": fixture.FromRoot("policies"), "kubectl": fixture.Kubectl()} {
			if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		apply(t, tc.installed)
		if tc.protected {
			apply(t, protect)
		}
		const reports = "/apis/wgpolicyk8s.io/v1alpha2/namespaces/default/policyreports"
		for _, name := range []string{"polex-guard", "other"} {
			do(t, cluster.Request{Method: http.MethodPost, Path: reports, Body: []byte("{apiVersion: wgpolicyk8s.io/v1alpha2, kind: PolicyReport, metadata: {name: " + name + "}}")}).want(t, http.StatusCreated)
		}
		page, err := os.ReadFile(fixture.FromRoot(tc.page))
		if err != nil {
			t.Fatal(err)
		}
		section := regexp.MustCompile(`(?s)\n` + tc.heading + `\n(.*?)(\n##+ |$)`).FindSubmatch(page)
		if section == nil {
			t.Fatalf("%s has no section %q", tc.page, tc.heading)
		}
		commands := regexp.MustCompile(`(?m)^ *(kubectl delete .*)$`).FindAllSubmatch(section[1], -1)
		if len(commands) < 3 {
			t.Fatalf("%s has %d commands", tc.page, len(commands))
		}
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
			if out, err := kubectl(t, "", args...); err != nil || out != "" {
				t.Errorf("%s leaves %s: %v", tc.page, out, err)
			}
		}
		do(t, cluster.Request{Method: http.MethodGet, Path: reports + "/polex-guard"}).want(t, http.StatusNotFound)
		do(t, cluster.Request{Method: http.MethodDelete, Path: reports + "/other"}).want(t, http.StatusOK)
	}
}
