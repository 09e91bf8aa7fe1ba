//go:build e2e

package guard

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/modcache"
	"github.com/polex-dev/polex/test/must"
)

// Names in the manifests.
const (
	manifestsFolder = "policies/guard"
	guardNamespace  = "polex-system"
	account         = "system:serviceaccount:polex-system:polex-guard"
)

// kubectl runs kubectl as the administrator, and returns its output.
func kubectl(t *testing.T, input string, args ...string) (string, error) {
	t.Helper()
	return kubectlOf(t, live.Kubeconfig(), input, args...)
}

// kubectlOf runs kubectl with a kubeconfig.
func kubectlOf(t *testing.T, kubeconfig, input string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), fixture.Kubectl(), append(args, "--kubeconfig", kubeconfig)...)
	cmd.Stdin = strings.NewReader(input)
	return run(cmd)
}

// run runs a command, and returns its output. Its error output is in the error.
func run(cmd *exec.Cmd) (string, error) {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = errors.Join(err, errors.New(stderr.String()))
	}
	return string(out), err
}

// kubectlAfterwards runs kubectl in the cleanup of a test.
func kubectlAfterwards(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(fixture.Kubectl(), append(args, "--kubeconfig",
		live.Kubeconfig())...).CombinedOutput(); err != nil {
		t.Errorf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// mustKubectl is kubectl that must succeed.
func mustKubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	out, err := kubectl(t, input, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// apply applies manifests as on the page, and rejects unknown fields.
func apply(t *testing.T, manifests string) {
	t.Helper()
	mustKubectl(t, manifests, "apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-")
}

// built returns the manifests of a folder of this repository.
func built(t *testing.T, dir string) string {
	t.Helper()
	return mustKubectl(t, "", "kustomize", fixture.FromRoot(filepath.Join(manifestsFolder, dir)))
}

// objectsOf returns the objects of manifests.
func objectsOf(t *testing.T, manifests string) []*unstructured.Unstructured {
	t.Helper()
	documents := must.Get(cluster.Documents([]byte(manifests)))(t)
	var objects []*unstructured.Unstructured
	for _, document := range documents {
		o := &unstructured.Unstructured{}
		must.Do(t, yaml.UnmarshalStrict(document, &o.Object))
		objects = append(objects, o)
	}
	return objects
}

// edited returns the objects for which keep returns true; keep may change them.
func edited(t *testing.T, manifests string, keep func(*unstructured.Unstructured) bool) string {
	t.Helper()
	var kept []string
	for _, o := range objectsOf(t, manifests) {
		if !keep(o) {
			continue
		}
		kept = append(kept, string(must.Get(yaml.Marshal(o.Object))(t)))
	}
	return strings.Join(kept, "---\n")
}

// only decodes the only object of a kind and name in manifests, strictly.
func only(t *testing.T, manifests, kind, name string, into any) {
	t.Helper()
	found := 0
	for _, o := range objectsOf(t, manifests) {
		if o.GetKind() != kind || o.GetName() != name {
			continue
		}
		found++
		must.Do(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, into, true))
	}
	if found != 1 {
		t.Fatalf("there are %d of %s %s", found, kind, name)
	}
}

func deployment(t *testing.T, manifests string) *appsv1.Deployment {
	t.Helper()
	var d appsv1.Deployment
	only(t, manifests, "Deployment", "polex-guard", &d)
	return &d
}

// installation is a user's kustomization of an overlay.
type installation struct {
	overlay string
	args    []string // more arguments
}

// installPage shows how to install the guard.
const installPage = "docs/how-to/install-guard.md"

// build builds the kustomization of the page with the user's values, without the patch for audits.
func (i installation) build(t *testing.T) string {
	t.Helper()
	page := must.Get(os.ReadFile(fixture.FromRoot(installPage)))(t)
	block := regexp.MustCompile("(?s) *```yaml\n( *# kustomization.yaml\n.*?) *# Audit: .*? *```").FindSubmatch(page)
	if block == nil {
		t.Fatal("the page has no kustomization.yaml with a patch for audits")
	}
	dir := t.TempDir()
	relative := func(folder string) string {
		return must.Get(filepath.Rel(dir, fixture.FromRoot(manifestsFolder+"/"+folder)))(t)
	}
	text := regexp.MustCompile("(?m)^   ").ReplaceAllString(string(block[1]), "")
	const address = "https://github.com/polex-dev/polex//policies/guard/overlays/cert-manager?ref=<commit>"
	for from, to := range map[string]string{address: relative("overlays/" + i.overlay), "<digest>": strings.Repeat("0", 64), "--cluster-name=<name>": "--cluster-name=e2e"} {
		if !strings.Contains(text, from) {
			t.Fatalf("the kustomization of the page does not hold %s", from)
		}
		text = strings.ReplaceAll(text, from, to)
	}
	for _, arg := range i.args {
		text += "  - target: {kind: Deployment, name: polex-guard}\n    patch: |\n      - {op: add, path: /spec/template/spec/containers/0/args/-, value: " + arg + "}\n"
	}
	root := must.Get(os.ReadFile(box.TrustedRootPath))(t)
	config := must.Get(os.ReadFile(box.ConfigPath))(t)
	for name, text := range map[string]string{"kustomization.yaml": text, "config.yaml": string(config), "trusted_root.json": string(root)} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return mustKubectl(t, "", "kustomize", dir)
}

// definedCertificates installs cert-manager's definitions.
func definedCertificates(t *testing.T) {
	t.Helper()
	dir := filepath.Join(modcache.Dir(t, modcache.CertManager), "deploy", "crds")
	mustKubectl(t, "", "apply", "--server-side", "-f", dir)
	mustKubectl(t, "", "wait", "--for=condition=Established", "--timeout=60s", "-f", dir)
}
