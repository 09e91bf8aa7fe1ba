package interop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// attestorSet is the part of a ClusterPolicy's validate.manifests that names the required signers.
type attestorSet struct {
	Count   *int
	Entries []struct {
		Attestor *attestorSet
		Keys     *struct {
			PublicKeys         string
			SignatureAlgorithm string
			Rekor              struct {
				URL        string
				IgnoreTlog bool
			}
			CTLog struct{ IgnoreSCT bool }
		}
	}
}

// authorities returns the authorities of a set, and the number of required signatures.
func (s attestorSet) authorities(t *testing.T) (all []trust.AuthorityConfig, threshold int) {
	t.Helper()
	for i, entry := range s.Entries {
		authority := trust.AuthorityConfig{Name: fmt.Sprint("entry ", i)}
		if entry.Attestor != nil {
			inner, needed := entry.Attestor.authorities(t)
			must.That(t, len(inner) == 1 && needed == 1, "a set within a set that is not one key")
			authority.Key = inner[0].Key
		} else {
			authority.Key, authority.InsecureWithoutLog = entry.Keys.PublicKeys, entry.Keys.Rekor.IgnoreTlog
		}
		all = append(all, authority)
	}
	if s.Count != nil {
		return all, *s.Count
	}
	return all, len(all)
}

func (s attestorSet) config(t *testing.T) trust.Config {
	t.Helper()
	c := trust.Config{Kinds: []string{"*"}}
	c.Authorities, c.Threshold = s.authorities(t)
	return c
}

// rulesOf returns the rules of a ClusterPolicy, by name.
func rulesOf(t *testing.T, raw []byte) map[string]trust.Config {
	t.Helper()
	var policy struct {
		Spec struct {
			Rules []struct {
				Name     string
				Validate struct {
					Manifests struct{ Attestors []attestorSet }
				}
			}
		}
	}
	must.Do(t, yaml.Unmarshal(raw, &policy))
	rules := map[string]trust.Config{}
	for _, rule := range policy.Spec.Rules {
		if len(rule.Validate.Manifests.Attestors) != 1 {
			t.Fatalf("the rule %s has %d sets of attestors: a policy of polex is one", rule.Name, len(rule.Validate.Manifests.Attestors))
		}
		rules[rule.Name] = rule.Validate.Manifests.Attestors[0].config(t)
	}
	return rules
}

func kyvernoPublished(t *testing.T, dir string) []published {
	t.Helper()
	const conformance = "test/conformance/chainsaw/"
	var all []published
	for _, pattern := range []string{conformance + "verify-manifests/*/chainsaw-test.yaml", conformance + "validate/e2e/yaml-signing*/chainsaw-test.yaml"} {
		tests, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		must.That(t, err == nil && len(tests) != 0, "Kyverno has no %s: %v", pattern, err)
		for _, test := range tests {
			folder := must.Get(filepath.Rel(dir, filepath.Dir(test)))(t)
			all = append(all, chainsawPublished(t, dir, filepath.ToSlash(folder))...)
		}
	}
	return append(append(all, kyvernoCLIPublished(t, dir)...), kyvernoGoPublished(t, dir)...)
}

// scripted matches a step in the form of a script, which fails if kubectl can apply the file.
var scripted = regexp.MustCompile(`(?s)^if kubectl apply -f (\S+)\s+then.*exit 1\s+else.*exit 0\s+fi\s*$`)

// chainsawPublished returns the files that one of Kyverno's conformance tests applies, with the policy beside them.
func chainsawPublished(t *testing.T, dir, folder string) []published {
	t.Helper()
	var test struct {
		Spec struct {
			Steps []struct {
				Try []struct {
					Apply *struct {
						File   string
						Expect []struct{ Check map[string]any }
					}
					Script *struct{ Content string }
				}
			}
		}
	}
	must.Do(t, yaml.Unmarshal(readPublished(t, dir, path.Join(folder, "chainsaw-test.yaml")), &test))
	rules := rulesOf(t, readPublished(t, dir, path.Join(folder, "policy.yaml")))
	must.That(t, len(rules) == 1, "%s has a policy of %d rules", folder, len(rules))
	var all []published
	add := func(file string, theirs bool) {
		for _, config := range rules {
			all = append(all, published{project: "Kyverno", file: path.Join(folder, file), theirs: theirs, config: config,
				raw: readPublished(t, dir, path.Join(folder, file))})
		}
	}
	for _, step := range test.Spec.Steps {
		for _, try := range step.Try {
			switch {
			case try.Script != nil:
				found := scripted.FindStringSubmatch(try.Script.Content)
				must.That(t, found != nil, "%s runs a script that is not understood:\n%s", folder, try.Script.Content)
				add(found[1], false)
			case try.Apply != nil:
				refused := len(try.Apply.Expect) > 0
				must.That(t, !refused || try.Apply.Expect[0].Check["($error != null)"] == true,
					"%s expects something that is not understood: %v", folder, try.Apply.Expect)
				add(try.Apply.File, !refused)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(folder), "*.yaml"))
	expect.That(t, err == nil && len(files) == len(all)+2,
		"%s holds %d files, and its test applies %d, by a policy and itself: %v", folder, len(files), len(all), err)
	return all
}

// kyvernoCLIPublished returns the resources in a test of Kyverno's command line, by the rules of their results.
func kyvernoCLIPublished(t *testing.T, dir string) []published {
	t.Helper()
	const folder = "test/cli/test/manifests/verify-signature"
	var test struct {
		Results []struct {
			Resources    []string
			Rule, Result string
		}
	}
	must.Do(t, yaml.Unmarshal(readPublished(t, dir, folder+"/kyverno-test.yaml"), &test))
	rules := rulesOf(t, readPublished(t, dir, folder+"/policies.yaml"))
	documents := bytes.Split(readPublished(t, dir, folder+"/resources.yaml"), []byte("\n---\n"))
	var all []published
	for _, result := range test.Results {
		config, known := rules[result.Rule]
		must.That(t, known && slices.Contains([]string{"pass", "fail"}, result.Result),
			"a result that is not understood: %+v", result)
		for _, name := range result.Resources {
			at := slices.IndexFunc(documents, func(d []byte) bool { return strings.Contains(string(d), "\n  name: "+name+"\n") })
			must.That(t, at >= 0, "there is no resource %s", name)
			all = append(all, published{project: "Kyverno", file: folder + "/resources.yaml", name: name + " by " + result.Rule,
				theirs: result.Result == "pass", config: config, raw: documents[at]})
		}
	}
	return all
}

// kyvernoGoPublished returns the admission requests in Kyverno's own Go tests, by the attestors of each test function.
func kyvernoGoPublished(t *testing.T, dir string) []published {
	t.Helper()
	const file = "pkg/engine/handlers/validation/validate_manifest_test.go"
	source := string(readPublished(t, dir, file))
	texts := map[string]string{}
	for _, m := range goText.FindAllStringSubmatch(source, -1) {
		texts[m[1]] = m[2]
	}
	var all []published
	for name, body := range functions(source) {
		one := func(pattern string) string {
			found := regexp.MustCompile(pattern).FindAllStringSubmatch(body, -1)
			must.That(t, len(found) == 1, "%s: %d of %s", name, len(found), pattern)
			return found[0][1]
		}
		var request struct{ Object json.RawMessage }
		must.Do(t, json.Unmarshal([]byte(texts[one(`json\.Unmarshal\(\[\]byte\((\w+)\), &request\)`)]), &request))
		all = append(all, published{project: "Kyverno", file: file, name: name,
			theirs: one(`assert\.Equal\(t, verified, (true|false)\)`) == "true", config: attestorsOf(t, body, texts).config(t), raw: request.Object})
	}
	return all
}

var (
	goText     = regexp.MustCompile("(?m)^(?:var|const) (\\w+) = `([^`]*)`")
	goAttestor = regexp.MustCompile("PublicKeys: (\\w+),|Raw: \\[\\]byte\\(`([^`]+)`\\)")
	goCount    = regexp.MustCompile(`count := (\d+)\n`)
)

// attestorsOf reads the only set of attestors in a test function.
func attestorsOf(t *testing.T, body string, texts map[string]string) attestorSet {
	t.Helper()
	var entries []map[string]any
	for _, found := range goAttestor.FindAllStringSubmatch(body, -1) {
		if found[1] != "" {
			entries = append(entries, map[string]any{"keys": map[string]any{"publicKeys": texts[found[1]]}})
		} else {
			entries = append(entries, map[string]any{"attestor": json.RawMessage(found[2])})
		}
	}
	written := map[string]any{"entries": entries}
	if count := goCount.FindStringSubmatch(body); count != nil {
		written["count"] = json.RawMessage(count[1])
	}
	raw := must.Get(json.Marshal(written))(t)
	var set attestorSet
	must.Do(t, json.Unmarshal(raw, &set))
	must.That(t, strings.Count(body, "AttestorSet{") == 1 && len(entries) != 0,
		"attestors that are not understood:\n%s", body)
	return set
}
