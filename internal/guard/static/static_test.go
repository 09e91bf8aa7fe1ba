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

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/guard/static"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// sources is the folder policies/.
const sources = "../../../policies"

// delivered reads the files of policies/guard/static, those that are optional too.
func delivered(t *testing.T) *static.Set {
	t.Helper()
	dir := t.TempDir()
	for to, from := range map[string][]string{"webhooks": {"webhooks"}, "policies": {"policies", "exec", "writers"}} {
		must.Do(t, os.Mkdir(filepath.Join(dir, to), 0o700))
		for _, folder := range from {
			files := must.Get(static.Read(filepath.Join(sources, "guard/static", folder)))(t)
			for name, text := range files {
				if name == "kustomization.yaml" {
					continue
				}
				must.Do(t, os.WriteFile(filepath.Join(dir, to, name), text, 0o600))
			}
		}
	}
	return must.Get(static.ReadSet(dir))(t)
}

// TestNobodyIsExempt: no rule decides by a user or a group, since a member of system:masters can
// impersonate everybody. Only the policy about writers does; it permits nothing that the guard rejects.
func TestNobodyIsExempt(t *testing.T) {
	set := delivered(t)
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
		expect.That(t, p.Spec.FailurePolicy != nil && *p.Spec.FailurePolicy == admissionregistrationv1.Fail,
			"%s does not fail closed", p.Name)
	}
	for _, c := range set.Webhooks {
		for _, w := range c.Webhooks {
			expect.That(t, len(w.MatchConditions) == 0 && w.NamespaceSelector == nil && w.ObjectSelector == nil,
				"%s leaves something out", w.Name)
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
		text := must.Get(fs.ReadFile(from, file))(t)
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var o map[string]any
			must.Do(t, yaml.Unmarshal([]byte(document), &o))
			metadata := o["metadata"].(map[string]any)
			namespace, _ := metadata["namespace"].(string)
			found[o["kind"].(string)+"/"+namespace+"/"+metadata["name"].(string)] = o
		}
	}
	return found
}

// TestAgrees: the static files have the rules, constraints and conditions of the kustomization and the
// chart. They differ in the names, the URL and the decisions about users.
func TestAgrees(t *testing.T) {
	written := objects(t, os.DirFS(filepath.Join(sources, "guard/static")), "webhooks/webhook.yaml", "policies/cluster.yaml", "policies/definitions.yaml", "policies/namespace.yaml", "writers/writers.yaml")
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
					if key == "ValidatingAdmissionPolicy//polex-writers" {
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
	expect.Equal(t, what, want, got)
}

// TestDelivered: the webhook has the paths of the guard, the policies have the rights of the guard,
// every binding denies, and each plugin reads a folder of its own.
func TestDelivered(t *testing.T) {
	set := delivered(t)
	var urls []string
	for _, w := range set.Webhooks[0].Webhooks {
		urls = append(urls, *w.ClientConfig.URL)
	}
	equal(t, "URLs", []string{"https://127.0.0.1:9443/admit", "https://127.0.0.1:9443/deleted"}, urls)
	rights := objects(t, os.DirFS(sources), "guard/base/rbac.yaml")
	roles := map[string]string{"polex-guard-cluster": "ClusterRole//polex-guard", "polex-guard-namespace": "Role/polex-system/polex-guard"}
	var names []string
	for _, p := range set.Policies {
		name := strings.TrimSuffix(p.Name, static.Suffix)
		names = append(names, name)
		for _, v := range p.Spec.Variables {
			if v.Name != "rules" {
				continue
			}
			var rules []any
			err := json.Unmarshal([]byte(v.Expression), &rules)
			expect.That(t, err == nil, "%s: %v", name, err)
			equal(t, name, rights[roles[name]]["rules"], any(rules))
			delete(roles, name)
		}
		if !slices.ContainsFunc(set.Bindings, func(b admissionregistrationv1.ValidatingAdmissionPolicyBinding) bool {
			return b.Spec.PolicyName == p.Name && b.Name == p.Name && slices.Contains(b.Spec.ValidationActions, admissionregistrationv1.Deny)
		}) {
			t.Errorf("%s is not bound", p.Name)
		}
	}
	expect.That(t, len(roles) == 0, "the rights of %v are not protected", roles)
	slices.Sort(names)
	equal(t, "policies", []string{"polex-admission", "polex-exec", "polex-guard-cluster", "polex-guard-definitions", "polex-guard-namespace", "polex-writers"}, names)
	text := must.Get(os.ReadFile(filepath.Join(sources, "guard/static/admission.yaml")))(t)
	var config struct {
		Plugins []struct {
			Name          string
			Configuration struct{ StaticManifestsDir string }
		}
	}
	must.Do(t, yaml.Unmarshal(text, &config))
	folders := map[string]string{}
	for _, p := range config.Plugins {
		folders[p.Name] = p.Configuration.StaticManifestsDir
	}
	equal(t, "folders", map[string]string{static.WebhookPlugin: "/etc/kubernetes/polex/webhooks", static.PolicyPlugin: "/etc/kubernetes/polex/policies"}, folders)
}

// TestReadSet: files with other objects, and files that are not YAML, are errors that name the file.
func TestReadSet(t *testing.T) {
	const hook = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: polex-guard.static.k8s.io}\n"
	for name, tc := range map[string]struct{ text, want string }{
		"a webhook":        {hook, ""},
		"nothing":          {"", ""},
		"two documents":    {hook + "---\n" + hook, ""},
		"a ConfigMap":      {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", `webhooks/a.yaml: apiVersion "v1" with kind "ConfigMap" is not allowed`},
		"another version":  {strings.Replace(hook, "/v1", "/v1beta1", 1), `apiVersion "admissionregistration.k8s.io/v1beta1" with kind "ValidatingWebhookConfiguration" is not allowed`},
		"another kind":     {strings.Replace(hook, "Validating", "Mutating", 1), `with kind "MutatingWebhookConfiguration" is not allowed`},
		"an unknown field": {hook + "hooks: []\n", `unknown field "hooks"`},
		"a key twice":      {hook + "webhooks: []\nwebhooks: []\n", "already set"},
		"not YAML":         {"a: [", "webhooks/a.yaml: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, folder := range []string{"webhooks", "policies"} {
				must.Do(t, os.Mkdir(filepath.Join(dir, folder), 0o700))
			}
			must.Do(t, os.WriteFile(filepath.Join(dir, "webhooks", "a.yaml"), []byte(tc.text), 0o600))
			_, err := static.ReadSet(dir)
			expect.That(t, (err != nil) == (tc.want != "") && (err == nil || strings.Contains(err.Error(), tc.want)),
				"%v, want %q", err, tc.want)
		})
	}
}

// TestRead: the files that an API server reads, and their hash.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"b.yml": "b", "a.YAML": "a", "c.json": "", "d.txt": "d", ".polex.yaml.1.tmp": "e"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	must.Do(t, os.Mkdir(filepath.Join(dir, "e.yaml"), 0o700))
	m := must.Get(static.Read(dir))(t)
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
			must.Do(t, make(filepath.Join(dir, "a.yaml")))
			if _, err := static.Read(dir); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "a.yaml") {
				t.Errorf("%v", err)
			}
		})
	}
}

const abHash = "8fb20ef63ced4145fc2e983ffe597d1dcff39154c3bf21f0fa9dde6a0c50fdc9"
