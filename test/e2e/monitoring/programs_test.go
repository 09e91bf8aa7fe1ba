//go:build e2e

package monitoring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/guard/static"
	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/modcache"
	"github.com/polex-dev/polex/test/must"
)

// Shared by all tests of this process.
var (
	live   *cluster.Cluster // with Kyverno
	box    *sandbox.Sandbox
	folder string // of the run; it holds polex's binaries
)

// staticFolder is the folder of the run with the static policies of the API server.
const staticFolder = "static"

// staticFiles makes the API server read policies from a folder, and webhooks from an empty one.
func staticFiles(f *fixture.Fixture) (o cluster.Options, err error) {
	config := "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
	for plugin, kind := range map[string]string{static.PolicyPlugin: "ValidatingAdmissionPolicyConfiguration", static.WebhookPlugin: "WebhookAdmissionConfiguration"} {
		dir := filepath.Join(f.Folder, staticFolder, plugin)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return o, err
		}
		config += fmt.Sprintf("- {name: %s, configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: %s, staticManifestsDir: %q}}\n", plugin, kind, dir)
	}
	admission := filepath.Join(f.Folder, staticFolder, "admission.yaml")
	o.Flags = []string{"--admission-control-config-file=" + admission}
	if os.Getenv("KUBERNETES") == "1.36" {
		o.Flags = append(o.Flags, "--feature-gates=ManifestBasedAdmissionControlConfig=true")
	}
	return o, errors.Join(os.WriteFile(admission, []byte(config), 0o600),
		os.WriteFile(filepath.Join(f.Folder, staticFolder, static.PolicyPlugin, "a.yaml"), []byte(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: a.static.k8s.io}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "true"}]
`), 0o600))
}

func TestMain(m *testing.M) {
	fixture.Main(m, func(ctx context.Context, f *fixture.Fixture) error {
		o, err := staticFiles(f)
		if err != nil {
			return err
		}
		err = errors.Join(f.Build(ctx, "polex-guard", "polex-sign", "polex-request", "polex-audit"), f.StartSigstore(ctx), f.StartCluster(ctx, o))
		live, box, folder = f.Cluster, f.Sigstore, f.Folder
		return err
	})
}

const binaries = "bin/e2e"

// program runs a program to its end, and returns its output. Its error output is in the error.
func program(t *testing.T, dir, input, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	cmd.Env = append(os.Environ(), append(box.Environ(), "HOME="+folder, "XDG_CACHE_HOME="+folder, "XDG_CONFIG_HOME="+folder, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(name), strings.Join(args, " "), err, out, &stderr)
	}
	return string(out), err
}

// output runs a program that must succeed.
func output(t *testing.T, dir, input, name string, args ...string) string {
	t.Helper()
	return must.Get(program(t, dir, input, name, args...))(t)
}

func kubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	return output(t, folder, input, fixture.Kubectl(), append(args, "--kubeconfig", live.Kubeconfig())...)
}

// TestPromtool: the rules are valid, and pass their tests.
func TestPromtool(t *testing.T) {
	promtool := fixture.FromRoot(binaries + "/promtool")
	rules := fixture.FromRoot(alertsFolder + "/rules.yaml")
	output(t, folder, "", promtool, "check", "rules", "--lint=all", "--lint-fatal", rules)
	output(t, folder, "", promtool, append([]string{"test", "rules"}, testFiles(t)...)...)

	// Wrong rules fail.
	for name, change := range map[string][3]string{
		"one that fires always": {"expr: max(polex_guard_leader) == 0", "expr: vector(1)", "PolexGuardWithoutLeader"},
		"one that never fires":  {"expr: absent(polex_guard_leader)", "expr: absent(vector(1))", "PolexGuardDown"},
	} {
		text := string(read(t, alertsFolder+"/rules.yaml"))
		must.That(t, strings.Count(text, change[0]) == 1, "%s: %q is not there once", name, change[0])
		dir := t.TempDir()
		tests := filepath.Join(dir, "tests", "guard.yaml")
		write(t, filepath.Join(dir, "rules.yaml"), strings.Replace(text, change[0], change[1], 1))
		write(t, tests, string(read(t, alertsFolder+"/tests/guard.yaml")))
		if out, err := program(t, folder, "", promtool, "test", "rules", tests); err == nil || !strings.Contains(err.Error(), change[2]) {
			t.Errorf("the tests pass with %s: %v\n%s", name, err, out)
		}
	}
}

// TestManifests: an API server with the operator's kinds accepts the manifests, and knows every field.
func TestManifests(t *testing.T) {
	definitions := filepath.Join(modcache.Dir(t, modcache.PrometheusOperator), "example", "prometheus-operator-crd")
	for _, kind := range []string{"prometheusrules", "servicemonitors"} {
		file := filepath.Join(definitions, "monitoring.coreos.com_"+kind+".yaml")
		kubectl(t, "", "apply", "--server-side", "-f", file)
		kubectl(t, "", "wait", "--for=condition=Established", "--timeout=60s", "-f", file)
	}
	kubectl(t, string(read(t, "policies/guard/base/namespace.yaml")), "apply", "-f", "-")
	for dir, want := range map[string]int{alertsFolder: 2, "policies/dashboard": 1} {
		manifests := kubectl(t, "", "kustomize", fixture.FromRoot(dir))
		kubectl(t, manifests, "apply", "--server-side", "--validate=strict", "-f", "-")
		expect.Is(t, dir, want, strings.Count(kubectl(t, manifests, "get", "-o", "name", "-f", "-"), "\n"))
	}
	// The sidecar's ConfigMap equals the file.
	var found struct {
		Data     map[string]string
		Metadata struct{ Labels map[string]string }
	}
	must.Do(t, json.Unmarshal([]byte(kubectl(t, "", "get", "configmap", "polex-dashboard", "-n", "polex-system", "-o",
		"json")), &found))
	if found.Data["polex.json"] != string(read(t, dashboardFile)) || found.Metadata.Labels["grafana_dashboard"] != "1" {
		t.Errorf("the ConfigMap is another: %v", found.Metadata.Labels)
	}
	// The scraped metrics are the guard's: the Service has that label, and a port with that name.
	service := kubectl(t, "", "kustomize", fixture.FromRoot("policies/guard/base"))
	for _, want := range []string{"app.kubernetes.io/name: polex-guard", "name: metrics"} {
		if !strings.Contains(service, want) || !strings.Contains(kubectl(t, "", "kustomize", fixture.FromRoot(alertsFolder)), strings.TrimPrefix(want, "name: ")) {
			t.Errorf("%q is not in both", want)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
}
