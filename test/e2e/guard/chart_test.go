//go:build e2e

package guard

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// chartFolder is the folder of the chart.
const chartFolder = "charts/polex-guard"

// values are values of the chart, in JSON.
type values map[string]any

// chartValues returns the least values: the trust policy of the sandbox, and an image.
func chartValues(t *testing.T) values {
	t.Helper()
	text := must.Get(os.ReadFile(box.ConfigPath))(t)
	root := must.Get(os.ReadFile(box.TrustedRootPath))(t)
	var config map[string]any
	must.Do(t, yaml.Unmarshal(text, &config))
	return values{
		"config": values{"trust": config["trust"]}, "files": values{filepath.Base(box.TrustedRootPath): string(root)},
		"image": values{"digest": "sha256:" + strings.Repeat("0", 64)}, "clusterName": "e2e",
	}
}

// with returns the values with some replaced.
func (v values) with(more values) values {
	all := values{}
	for _, some := range []values{v, more} {
		for key, value := range some {
			all[key] = value
		}
	}
	return all
}

// helm runs Helm with a chart's values, and returns its output.
func helm(t *testing.T, v values, args ...string) (string, error) {
	t.Helper()
	home := t.TempDir()
	if v != nil {
		text := must.Get(json.Marshal(v))(t)
		file := filepath.Join(home, "values.json")
		must.Do(t, os.WriteFile(file, text, 0o600))
		args = append(args, "--values", file)
	}
	cmd := exec.CommandContext(t.Context(), fixture.FromRoot(binaries+"/helm"), args...)
	cmd.Env = []string{"HOME=" + home, "KUBECONFIG=" + live.Kubeconfig(), "HELM_NAMESPACE=" + guardNamespace}
	return run(cmd)
}

// mustHelm is helm that must succeed.
func mustHelm(t *testing.T, v values, args ...string) string {
	t.Helper()
	out, err := helm(t, v, args...)
	must.That(t, err == nil, "helm %s: %v", strings.Join(args, " "), err)
	return out
}

// documented returns the arguments of the only helm command of docs/how-to/install-guard.md that has a
// text, for a chart.
func documented(t *testing.T, chart, text string) (args []string) {
	t.Helper()
	page := must.Get(os.ReadFile(fixture.FromRoot(installPage)))(t)
	for line := range strings.Lines(strings.ReplaceAll(string(page), "\\\n", " ")) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "helm" && strings.Contains(line, text) {
			must.That(t, args == nil, "the page has two commands with %s", text)
			for _, word := range words[1:] {
				args = append(args, strings.ReplaceAll(strings.Trim(word, "'"), chartFolder, chart))
			}
		}
	}
	must.That(t, args != nil, "the page has no command with %s", text)
	return args
}

// TestChartDocumented: the command of the page renders the values of the page, with the trusted root of a file.
func TestChartDocumented(t *testing.T) {
	page := must.Get(os.ReadFile(fixture.FromRoot(installPage)))(t)
	block := regexp.MustCompile("(?s) *```yaml\n( *# values.yaml\n.*?) *```").FindSubmatch(page)
	must.That(t, block != nil, "the page holds no values.yaml")
	dir := t.TempDir()
	for name, text := range map[string]string{"values.yaml": regexp.MustCompile("(?m)^   ").ReplaceAllString(string(block[1]), ""), "trusted_root.json": "{}"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	args := documented(t, fixture.FromRoot(chartFolder), "helm install")
	args[0] = "template"
	for i := range args {
		args[i] = strings.NewReplacer("values.yaml", dir+"/values.yaml", "=trusted_root.json", "="+dir+"/trusted_root.json").Replace(args[i])
	}
	var data corev1.ConfigMap
	only(t, mustHelm(t, nil, args...), "ConfigMap", "polex-guard", &data)
	if data.Data["trusted_root.json"] != "{}" || !strings.Contains(data.Data["config.yaml"], "trustedRoot: trusted_root.json") {
		t.Errorf("the ConfigMap holds %q", data.Data)
	}
}

// TestChartRenders: the chart has the same objects as the kustomization of each overlay, with and
// without each component, and as the folders protect, alerts and dashboard. Only the Namespace is
// missing: Helm needs it before the chart.
func TestChartRenders(t *testing.T) {
	chart := fixture.FromRoot(chartFolder)
	compared := 0
	same := func(t *testing.T, v values, kustomized ...string) {
		t.Helper()
		want, got := byName(t, strings.Join(kustomized, "\n---\n")), byName(t, mustHelm(t, v, "template", "polex-guard", chart))
		_, there := want["Namespace polex-system"]
		expect.That(t, there, "kustomize renders no Namespace")
		delete(want, "Namespace polex-system")
		expect.Equal(t, "-kustomize +chart", want, got, lineEnds)
		compared += len(got)
	}
	enforcing := chartValues(t).with(values{"mode": "enforce"})
	for overlay, certificates := range map[string]string{"self-managed": "selfManaged", "cert-manager": "certManager"} {
		v := enforcing.with(values{"certificates": certificates})
		t.Run(overlay, func(t *testing.T) { same(t, v, installation{overlay: overlay}.build(t)) })
		t.Run(overlay+" with a flag", func(t *testing.T) {
			same(t, v.with(values{"enforceExisting": true}), installation{overlay: overlay, args: []string{"--enforce-existing"}}.build(t))
		})
		t.Run(overlay+" with everything else", func(t *testing.T) {
			enabled := values{"enabled": true}
			k := administrators{users: `["alice","o'brien\u003c"]`, groups: `["platform-admins"]`}
			if overlay == "self-managed" {
				k.certifiers = "['" + account + "']"
			}
			same(t, v.with(values{
				"protect":        values{"enabled": true, "users": []string{"alice", "o'brien<"}, "groups": []string{"platform-admins"}},
				"serviceMonitor": enabled, "alerts": enabled, "dashboard": enabled,
			}), installation{overlay: overlay}.build(t), k.build(t), built(t, "../alerts"), built(t, "../dashboard"))
		})
	}
	t.Logf("%d objects compared", compared)
}

var lineEnds = cmp.Transformer("lineEnds", func(s string) string { return strings.ReplaceAll(s, "\n\n", "\n") })

// byName returns objects by kind, namespace and name. The configuration is parsed: its text differs, and the chart has
// only the sections that the guard reads. In texts of several lines, kustomize writes some line ends twice.
func byName(t *testing.T, manifests string) map[string]any {
	t.Helper()
	named := map[string]any{}
	for _, o := range objectsOf(t, manifests) {
		if o.GetKind() == "" {
			continue
		}
		name := strings.Join(slices.DeleteFunc([]string{o.GetKind(), o.GetNamespace(), o.GetName()}, func(s string) bool { return s == "" }), " ")
		_, twice := named[name]
		expect.That(t, !twice, "%s occurs twice", name)
		if data, is := o.Object["data"].(map[string]any); is {
			if text, is := data["config.yaml"].(string); is {
				var config map[string]any
				must.Do(t, yaml.UnmarshalStrict([]byte(text), &config))
				delete(config, "sigstore")
				data["config.yaml"] = config
			}
		}
		named[name] = o.Object
	}
	return named
}

// TestChartValues: Helm's own linter accepts the chart, and the chart rejects values that would not
// work, with a message that names the value.
func TestChartValues(t *testing.T) {
	chart := fixture.FromRoot(chartFolder)
	least := chartValues(t)
	mustHelm(t, least, "lint", "--strict", chart)
	for _, tc := range []struct {
		name string
		v    values
		args []string
		says string
	}{
		{name: "no signer", v: values{"image": least["image"]}, says: "at '/config': missing property 'trust'"},
		{name: "an empty trust policy", v: least.with(values{"config": values{"trust": values{}}}), says: "at '/config/trust': missing property 'authorities'"},
		{name: "a misspelt key of the trust policy", v: least.with(values{"config": values{"trust": values{"authorities": []any{}, "maxlifetime": "1d"}}}), says: "additional properties 'maxlifetime' not allowed"},
		{name: "a misspelt value", v: least.with(values{"replica": 2}), says: "additional properties 'replica' not allowed"},
		{name: "a mode", v: least.with(values{"mode": "warn"}), says: "at '/mode': value must be one of 'audit', 'enforce'"},
		{name: "deleting in audit", v: least.with(values{"enforceExisting": true}), says: "at '/mode': value must be 'enforce'"},
		{name: "a port of root", v: least.with(values{"ports": values{"webhook": 443}}), says: "at '/ports/webhook': minimum: got 443"},
		{name: "the kubelet's port", v: least.with(values{"hostNetwork": true, "ports": values{"webhook": 10250}}), says: "at '/ports/webhook': 'not' failed"},
		{name: "no priority", v: least.with(values{"priorityClassName": ""}), says: "at '/priorityClassName': minLength: got 0, want 1"},
		{name: "no replicas", v: least.with(values{"replicas": 0}), says: "at '/replicas': minimum: got 0, want 1"},
		{name: "protection without administrators", v: least.with(values{"protect": values{"enabled": true}}), says: "at '/protect/users': minItems: got 0, want 1"},
		{name: "a value that is gone", v: least.with(values{"git": values{"enabled": true}}), says: "additional properties 'git' not allowed"},
		{name: "a file in place of the configuration", v: least.with(values{"files": values{"config.yaml": "a"}}), says: "at '/files/config.yaml': false schema"},
		{name: "another namespace", v: least, args: []string{"--namespace", "default"}, says: `polex-guard runs in the namespace polex-system, not in "default"`},
		{name: "no image", v: least.with(values{"image": values{}}), says: "set image.digest or image.tag"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := helm(t, tc.v, append([]string{"template", "polex-guard", chart}, tc.args...)...)
			expect.That(t, err != nil && strings.Contains(err.Error(), tc.says),
				"it does not say %q: %v%.200s", tc.says, err, out)
		})
	}
}

// TestChartSettings: a value changes the field that it is for, and no other object.
func TestChartSettings(t *testing.T) {
	chart := fixture.FromRoot(chartFolder)
	plain := byName(t, mustHelm(t, chartValues(t), "template", "polex-guard", chart))
	for _, tc := range []struct {
		name, object string
		v            values
		want         []string // in its JSON; none if it is gone
	}{
		{"replicas", "Deployment", values{"replicas": 3}, []string{`"replicas":3`}},
		{"memory", "Deployment", values{"resources": values{"limits": values{"memory": "1Gi"}}, "goMemoryLimit": "800MiB"},
			[]string{`"resources":{"limits":{"memory":"1Gi"},"requests":{"cpu":"100m","memory":"256Mi"}}`, `{"name":"GOMEMLIMIT","value":"800MiB"}`}},
		{"placement", "Deployment", values{"nodeSelector": values{"a": "b"}, "tolerations": []any{values{"operator": "Exists"}}, "imagePullSecrets": []any{values{"name": "registry"}}},
			[]string{`"nodeSelector":{"a":"b"}`, `"tolerations":[{"operator":"Exists"}]`, `"imagePullSecrets":[{"name":"registry"}]`}},
		{"scheduling", "Deployment", values{"affinity": values{"nodeAffinity": values{}}, "topologySpreadConstraints": []any{values{"maxSkew": 2}}, "priorityClassName": "guards"},
			[]string{`"affinity":{"nodeAffinity":{}}`, `"topologySpreadConstraints":[{"maxSkew":2}]`, `"priorityClassName":"guards"`}},
		{"host network", "Deployment", values{"hostNetwork": true, "ports": values{"webhook": 10443, "health": 18081}},
			[]string{`"hostNetwork":true`, `"dnsPolicy":"ClusterFirstWithHostNet"`, `"rollingUpdate":{"maxSurge":0,"maxUnavailable":1}`, `{"containerPort":10443,"name":"webhook"}`,
				`{"containerPort":8080,"name":"metrics"}`, `{"containerPort":18081,"name":"health"}`, `"--webhook-address=:10443","--health-address=:18081"`}},
		{"a port that GKE lets through", "Deployment", values{"ports": values{"webhook": 10250}}, []string{`{"containerPort":10250,"name":"webhook"}`, `"--webhook-address=:10250"`}},
		{"image", "Deployment", values{"image": values{"repository": "registry.example/guard", "tag": "v1.2.3"}}, []string{`"image":"registry.example/guard:v1.2.3"`}},
		{"flags", "Deployment", values{"extraArgs": []string{"--recheck-interval=5m"}}, []string{`"--recheck-interval=5m"]`}},
		{"addresses", "NetworkPolicy", values{"networkPolicy": values{"webhookClients": []string{"10.0.0.1/32"}, "apiServers": []string{"::1/128"}}},
			[]string{`{"from":[{"ipBlock":{"cidr":"10.0.0.1/32"}}],"ports":[{"port":"webhook"}]}`, `{"ports":[{"port":443},{"port":6443}],"to":[{"ipBlock":{"cidr":"::1/128"}}]}`}},
		{"no network policy", "NetworkPolicy", values{"networkPolicy": values{"enabled": false}}, nil},
		{"no budget", "PodDisruptionBudget", values{"podDisruptionBudget": values{"enabled": false}}, nil},
		{"cluster rules", "ConfigMap", values{"config": values{"trust": chartValues(t)["config"].(values)["trust"], "guard": values{"maxPerNamespace": 5}}}, []string{`"guard":{"maxPerNamespace":5}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := byName(t, mustHelm(t, chartValues(t).with(tc.v), "template", "polex-guard", chart))
			for name, was := range plain {
				is, there := got[name]
				if kind, _, _ := strings.Cut(name, " "); kind != tc.object {
					expect.That(t, cmp.Equal(was, is), "%s changes too", name)
					continue
				}
				text, err := json.Marshal(is)
				expect.That(t, err == nil && there == (len(tc.want) > 0), "%s is there: %v (%v)", name, there, err)
				for _, want := range tc.want {
					expect.That(t, strings.Contains(string(text), want), "%s holds no %s:\n%s", name, want, text)
				}
			}
		})
	}
}

// TestChartAudits: in the mode audit, the API server asks the guard about deletions alone, and does
// not need the answer. Nothing else differs from the mode enforce.
func TestChartAudits(t *testing.T) {
	chart := fixture.FromRoot(chartFolder)
	audit, enforce := mustHelm(t, chartValues(t), "template", "polex-guard", chart), mustHelm(t, chartValues(t).with(values{"mode": "enforce"}), "template", "polex-guard", chart)
	var w admissionregistrationv1.ValidatingWebhookConfiguration
	only(t, audit, "ValidatingWebhookConfiguration", "polex-guard", &w)
	for _, hook := range w.Webhooks {
		asksNever := cmp.Equal(hook.MatchConditions, []admissionregistrationv1.MatchCondition{{Name: "audit", Expression: "false"}})
		if opens := *hook.FailurePolicy == admissionregistrationv1.Ignore; asksNever == opens {
			t.Errorf("%s fails with %s, and has the conditions %v", hook.Name, *hook.FailurePolicy, hook.MatchConditions)
		}
	}
	without := edited(t, audit, func(o *unstructured.Unstructured) bool {
		hooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
		for _, hook := range hooks {
			delete(hook.(map[string]any), "matchConditions")
		}
		return len(hooks) == 0 || unstructured.SetNestedSlice(o.Object, hooks, "webhooks") == nil
	})
	expect.Equal(t, "-audit +enforce", byName(t, without), byName(t, enforce))
}
