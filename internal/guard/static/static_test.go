package static_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/guard/static"
)

// sources is the folder policies/.
const sources = "../../../policies"

func options() static.Options {
	return static.Options{
		Sources: os.DirFS(sources), URL: "https://127.0.0.1:9443", Bundle: []byte("-----BEGIN CERTIFICATE-----\n"), Folder: "/etc/kubernetes/polex",
		Writers: []string{"system:serviceaccount:argocd:argocd-application-controller"},
	}
}

func build(t *testing.T, o static.Options) (map[string][]byte, *static.Set) {
	t.Helper()
	files, err := static.Build(o)
	if err != nil {
		t.Fatal(err)
	}
	set, err := static.Parse(static.Manifests{"polex.yaml": files["webhooks/polex.yaml"]}, static.Manifests{"polex.yaml": files["policies/polex.yaml"]})
	if err != nil {
		t.Fatal(err)
	}
	return files, set
}

// TestNobodyIsExempt: no rule decides by a user or a group, since a member of system:masters can
// impersonate everybody. Only the policy about writers does; it permits nothing that the guard rejects.
func TestNobodyIsExempt(t *testing.T) {
	_, set := build(t, options())
	for _, p := range set.Policies {
		var texts []string
		for _, c := range p.Spec.MatchConditions {
			texts = append(texts, c.Expression)
		}
		for _, v := range p.Spec.Variables {
			texts = append(texts, v.Expression)
		}
		for _, v := range p.Spec.Validations {
			texts = append(texts, v.Expression)
		}
		for _, text := range texts {
			if by := strings.Contains(text, "userInfo"); by && p.Name != "polex-writers"+static.Suffix || strings.Contains(text, "authorizer") {
				t.Errorf("%s decides by the user: %s", p.Name, text)
			}
		}
		if p.Spec.FailurePolicy == nil || *p.Spec.FailurePolicy != admissionregistrationv1.Fail {
			t.Errorf("%s does not fail closed", p.Name)
		}
	}
	for _, c := range set.Webhooks {
		for _, w := range c.Webhooks {
			if len(w.MatchConditions) > 0 || w.NamespaceSelector != nil || w.ObjectSelector != nil {
				t.Errorf("%s leaves something out", w.Name)
			}
			for _, r := range w.Rules {
				if slices.Contains(r.Operations, admissionregistrationv1.Delete) && *w.FailurePolicy != admissionregistrationv1.Ignore {
					t.Errorf("%s keeps exceptions while no guard answers", w.Name)
				}
			}
		}
	}
}

// objects reads manifests by kind and name.
func objects(t *testing.T, from fs.FS, files ...string) map[string]map[string]any {
	t.Helper()
	found := map[string]map[string]any{}
	for _, file := range files {
		text, err := fs.ReadFile(from, file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var o map[string]any
			if err := yaml.Unmarshal([]byte(document), &o); err != nil {
				t.Fatal(err)
			}
			found[o["kind"].(string)+"/"+o["metadata"].(map[string]any)["name"].(string)] = o
		}
	}
	return found
}

// TestAgrees: the static files have the rules, constraints and conditions of the kustomization and the
// chart. They differ in the names, the URL and the decisions about users.
func TestAgrees(t *testing.T) {
	files, _ := build(t, options())
	written := objects(t, os.DirFS(writeAll(t, files)), "webhooks/polex.yaml", "policies/polex.yaml")
	for name, from := range map[string]struct {
		folder fs.FS
		files  []string
	}{
		"kustomization": {os.DirFS(sources), []string{"guard/base/webhook.yaml", "guard/protect/cluster.yaml", "guard/protect/definitions.yaml", "guard/protect/namespace.yaml", "rbac/base/writers.yaml"}},
		"chart":         {os.DirFS("../../../charts/polex-guard/files"), []string{"guard/base/webhook.yaml", "guard/protect/cluster.yaml", "guard/protect/definitions.yaml", "guard/protect/namespace.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			for key, want := range objects(t, from.folder, from.files...) {
				got := written[key+static.Suffix]
				if got == nil {
					t.Errorf("there is no static %s", key)
					continue
				}
				switch want["kind"] {
				case "ValidatingWebhookConfiguration":
					for _, o := range []map[string]any{want, got} {
						for _, w := range o["webhooks"].([]any) {
							delete(w.(map[string]any), "clientConfig")
						}
					}
					equal(t, key, want["webhooks"], got["webhooks"])
				case "ValidatingAdmissionPolicyBinding":
					spec := want["spec"].(map[string]any)
					spec["policyName"] = spec["policyName"].(string) + static.Suffix
					equal(t, key, spec, got["spec"])
				default:
					a, b := want["spec"].(map[string]any), got["spec"].(map[string]any)
					equal(t, key, a["matchConstraints"], b["matchConstraints"])
					equal(t, key, a["failurePolicy"], b["failurePolicy"])
					conditions, _ := a["matchConditions"].([]any)
					static, _ := b["matchConditions"].([]any)
					equal(t, key, conditions, static[:len(conditions)])
					if key == "ValidatingAdmissionPolicy/polex-writers" {
						equal(t, key, a["validations"], b["validations"])
						equal(t, key, a["variables"].([]any)[1:], b["variables"].([]any)[1:])
					}
				}
			}
		})
	}
}

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func writeAll(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestBuild: the webhook has the paths of the guard, the policies have the delivered rights and the
// writers, and each plugin reads a folder of its own.
func TestBuild(t *testing.T) {
	files, set := build(t, options())
	var urls, names []string
	for _, w := range set.Webhooks[0].Webhooks {
		urls = append(urls, *w.ClientConfig.URL)
	}
	equal(t, "URLs", []string{"https://127.0.0.1:9443/admit", "https://127.0.0.1:9443/deleted"}, urls)
	for _, p := range set.Policies {
		names = append(names, strings.TrimSuffix(p.Name, static.Suffix))
		for _, v := range p.Spec.Variables {
			var rules []any
			if v.Name == "rules" && (json.Unmarshal([]byte(v.Expression), &rules) != nil || len(rules) == 0) {
				t.Errorf("%s does not know the rights of the guard: %s", p.Name, v.Expression)
			}
			if v.Name == "users" {
				equal(t, "writers", `["system:serviceaccount:argocd:argocd-application-controller"]`, v.Expression)
			}
		}
	}
	equal(t, "policies", []string{"polex-admission", "polex-guard-cluster", "polex-guard-definitions", "polex-guard-namespace", "polex-writers"}, names)
	var config struct {
		Plugins []struct {
			Name          string
			Configuration struct{ StaticManifestsDir string }
		}
	}
	if err := yaml.Unmarshal(files["admission.yaml"], &config); err != nil {
		t.Fatal(err)
	}
	folders := map[string]string{}
	for _, p := range config.Plugins {
		folders[p.Name] = p.Configuration.StaticManifestsDir
	}
	equal(t, "folders", map[string]string{static.WebhookPlugin: "/etc/kubernetes/polex/webhooks", static.PolicyPlugin: "/etc/kubernetes/polex/policies"}, folders)

	o := options()
	o.URL, o.Writers = "https://10.96.0.9", nil
	_, set = build(t, o)
	names = nil
	for _, p := range set.Policies {
		names = append(names, strings.TrimSuffix(p.Name, static.Suffix))
	}
	// A guard in the cluster needs its namespace.
	equal(t, "policies for a Service", []string{"polex-admission", "polex-guard-cluster", "polex-guard-definitions"}, names)
}

// TestParse: files that an API server would refuse, with its rule.
func TestParse(t *testing.T) {
	files, _ := build(t, options())
	hook, policy := string(files["webhooks/polex.yaml"]), string(files["policies/polex.yaml"])
	replace := func(text, from, to string) string {
		if !strings.Contains(text, from) {
			t.Fatalf("nothing says %q", from)
		}
		return strings.Replace(text, from, to, 1)
	}
	for name, tc := range map[string]struct{ webhooks, policies, want string }{
		"none":                  {webhooks: "", policies: ""},
		"a name without suffix": {webhooks: replace(hook, "polex-guard.static.k8s.io", "polex-guard"), want: `webhooks/a.yaml: name "polex-guard" does not end with .static.k8s.io`},
		"a Service":             {webhooks: replace(hook, "url: https://127.0.0.1:9443/admit", "service: {namespace: a, name: b}"), want: "clientConfig.url only"},
		"no address":            {webhooks: replace(hook, "url: https://127.0.0.1:9443/admit", "url: ''"), want: "clientConfig.url only"},
		"a policy among them":   {webhooks: hook + "---\n" + policy, want: `kind "ValidatingAdmissionPolicy" is not allowed in this folder, expected ValidatingWebhookConfiguration`},
		"a webhook among them":  {policies: hook, want: `kind "ValidatingWebhookConfiguration" is not allowed in this folder`},
		"a ConfigMap":           {policies: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", want: `apiVersion "v1" is not allowed`},
		"only a comment":        {policies: "# none\n", want: `apiVersion "" is not allowed`},
		"another version":       {webhooks: replace(hook, "k8s.io/v1\n", "k8s.io/v1beta1\n"), want: `apiVersion "admissionregistration.k8s.io/v1beta1" is not allowed`},
		"a name twice":          {webhooks: hook + "---\n" + hook, want: `a second ValidatingWebhookConfiguration has the name "polex-guard.static.k8s.io"`},
		"an unknown field":      {webhooks: replace(hook, "failurePolicy:", "failurePolicies:"), want: `unknown field "failurePolicies"`},
		"a key twice":           {webhooks: replace(hook, "kind:", "kind: ValidatingWebhookConfiguration\nkind:"), want: "already set"},
		"a parameter kind":      {policies: replace(policy, "  failurePolicy: Fail\n", "  failurePolicy: Fail\n  paramKind: {apiVersion: v1, kind: ConfigMap}\n"), want: "spec.paramKind is not allowed"},
		"a parameter":           {policies: replace(policy, "  validationActions:", "  paramRef: {name: a}\n  validationActions:"), want: "spec.paramRef is not allowed"},
		"bound to another":      {policies: replace(policy, "policyName: polex-admission.static", "policyName: other.static"), want: `the binding polex-admission.static.k8s.io names the policy "other.static.k8s.io", which is not in this folder`},
		"YAML in braces":        {policies: "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: a.static.k8s.io}}", want: "is not JSON"},
		"JSON":                  {policies: `{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "a.static.k8s.io"}}`},
		"not YAML":              {policies: "a: [", want: "policies/a.yaml: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := static.Parse(static.Manifests{"a.yaml": []byte(tc.webhooks)}, static.Manifests{"a.yaml": []byte(tc.policies)})
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// TestRead: the files that an API server reads, and their hash.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"b.yml": "b", "a.YAML": "a", "c.json": "", "d.txt": "d", ".polex.yaml.1.tmp": "e"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "e.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	m, err := static.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "files", []string{"a.YAML", "b.yml", "c.json"}, slices.Sorted(maps.Keys(m)))
	// printf 'a\0b\0' | sha256sum; test/e2e/guard TestStatic compares with an API server.
	equal(t, "hash", "sha256:"+abHash, m.Hash())
	equal(t, "no content", "", static.Manifests{"a.yaml": nil}.Hash())
}

// TestReadRefuses: what an API server cannot read, or only without end, is an error that names it. It
// is not a missing folder.
func TestReadRefuses(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a link to nowhere": func(path string) error { return os.Symlink("nowhere", path) },
		"a device":          func(path string) error { return os.Symlink("/dev/zero", path) },
		"a folder":          func(path string) error { return os.Symlink(".", path) },
		"a large file":      func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 5<<20)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := make(filepath.Join(dir, "a.yaml")); err != nil {
				t.Fatal(err)
			}
			if _, err := static.Read(dir); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "a.yaml") {
				t.Errorf("%v", err)
			}
		})
	}
}

const abHash = "8fb20ef63ced4145fc2e983ffe597d1dcff39154c3bf21f0fa9dde6a0c50fdc9"
