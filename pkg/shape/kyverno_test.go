package shape_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/modcache"
	"github.com/polex-dev/polex/test/must"
)

// kyvernoFiles calls visit with every YAML file below a folder of Kyverno's source.
func kyvernoFiles(t *testing.T, folder string, visit func(path string, content []byte)) {
	t.Helper()
	module := modcache.Dir(t, modcache.Kyverno)
	must.Do(t, filepath.WalkDir(filepath.Join(module, folder), func(path string, entry fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || entry.IsDir() || ext != ".yaml" && ext != ".yml" {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil {
			relative, _ := filepath.Rel(module, path)
			visit(relative, content)
		}
		return err
	}))
}

var aPolicy = regexp.MustCompile(`(?m)^kind: *"?(ClusterPolicy|Policy|(Namespaced)?(Image)?(Validating|Mutating|Generating|Deleting)Policy)"?\s*$`)

// kyvernoFolders returns the documents of Kyverno's own tests, folder by folder.
func kyvernoFolders(t *testing.T) map[string][]*exception.Document {
	t.Helper()
	folders := map[string][]*exception.Document{}
	kyvernoFiles(t, "test", func(path string, content []byte) {
		docs, err := parseAll(content, path)
		if err != nil {
			return // TestPolicySetReadsKyvernos checks policies; the rest are templates
		}
		folders[filepath.Dir(path)] = append(folders[filepath.Dir(path)], docs...)
	})
	return folders
}

func parseAll(content []byte, path string) ([]*exception.Document, error) {
	r := exception.NewReader(bytes.NewReader(content), path).Large() // like the policies of polex-validate
	var docs []*exception.Document
	for {
		d, err := r.Next()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
}

func TestPolicySetReadsKyvernos(t *testing.T) {
	// One file has duplicate keys. Two have a Kasten Policy.
	odd := map[string]bool{
		"test/conformance/chainsaw/mutating-policies/reporting/events-violation/policy.yaml":    true,
		"test/conformance/chainsaw/mutate/refactor/k10-minimum-retention/resource-mutated.yaml": true,
		"test/conformance/chainsaw/mutate/refactor/k10-minimum-retention/resource.yaml":         true,
	}
	files, rules := 0, 0
	kyvernoFiles(t, "test", func(path string, content []byte) {
		if !aPolicy.Match(content) || odd[path] {
			return
		}
		files++
		docs := must.Get(parseAll(content, path))(t)
		set := shape.ReadPolicies(docs)
		expect.That(t, set.Len() != 0, "%s: no policy is found", path)
		for _, d := range docs {
			if items, _ := d.Lookup("spec", "rules"); d.GroupKind().Group == exception.KyvernoGroup && items != nil && len(shape.ReadPolicies([]*exception.Document{d}).RuleNames()) == 0 && strings.HasSuffix(d.Text("kind"), "Policy") {
				t.Errorf("%s: no rule is found", d.Position())
			}
		}
		rules += len(set.RuleNames())
	})
	expect.That(t, files >= 1000 && rules >= 1000, "only %d files and %d rules", files, rules)
}

// TestAutogenIsKyvernos compares the generated rules with those that Kyverno's own tests expect in a policy's status.
func TestAutogenIsKyvernos(t *testing.T) {
	checked := 0
	for folder, docs := range kyvernoFolders(t) {
		var policies []*exception.Document
		var want []string
		said := false
		for _, d := range docs {
			clusterPolicy := exception.GroupKind{Group: exception.KyvernoGroup, Kind: "ClusterPolicy"}
			if d.GroupKind() != clusterPolicy || strings.HasSuffix(d.File(), "error.yaml") { // an unexpected result
				continue
			}
			if _, isPolicy := d.Lookup("spec", "rules"); isPolicy {
				policies = append(policies, d)
			}
			if _, is := d.Lookup("status", "autogen"); is {
				said = true
			}
			items, _ := d.Lookup("status", "autogen", "rules")
			made, _ := items.([]any)
			for _, item := range made {
				rule, _ := item.(map[string]any)
				name, _ := rule["name"].(string)
				want = append(want, name)
			}
		}
		if !said || len(policies) != 1 {
			continue
		}
		checked++
		var got []string
		for _, name := range shape.ReadPolicies(policies).RuleNames() {
			if strings.HasPrefix(name, "autogen-") {
				got = append(got, name)
			}
		}
		slices.Sort(want)
		expect.Equal(t, folder, slices.Compact(want), got)
	}
	expect.AtLeast(t, "folders", 12, checked)
}

// TestKyvernosExceptions checks the exceptions in Kyverno's own tests with the policies beside them. The findings are
// about exceptions that are wrong on purpose, have their policy elsewhere, or name a rule too many or too few.
func TestKyvernosExceptions(t *testing.T) {
	want := map[string]string{
		"test/cli/apply/exception-within-policy-and-resource/pol/exception.yaml":                                      shape.ReasonAutogenRules,
		"test/cli/apply/exception-within-policy-and-resource/res/exception.yaml":                                      "unknown-policy",
		"test/cli/apply/exception-within-policy/pol/exception.yaml":                                                   shape.ReasonAutogenRules,
		"test/cli/apply/exception-within-resource/res/exception.yaml":                                                 "unknown-policy",
		"test/conformance/chainsaw/exceptions/background-mode/standard/exception-allowed.yaml":                        "unknown-policy",
		"test/conformance/chainsaw/exceptions/background-mode/standard/exception-rejected.yaml":                       "unknown-policy",
		"test/conformance/chainsaw/exceptions/exclude-ephemeral-containers/exception.yaml":                            shape.ReasonAutogenRules,
		"test/conformance/chainsaw/exceptions/with-wildcard/exception.yaml":                                           "unknown-rule",
		"test/conformance/chainsaw/image-validating-policies/exceptions/wrong-exception/exception.yaml":               "unknown-policy",
		"test/conformance/chainsaw/policy-validation/cluster-policy/invalid-pod-security-exceptions/exception-1.yaml": "unknown-policy",
		"test/conformance/chainsaw/policy-validation/cluster-policy/invalid-pod-security-exceptions/exception-2.yaml": "unknown-policy",
		"test/conformance/chainsaw/policy-validation/cluster-policy/invalid-pod-security-exceptions/exception-3.yaml": "unknown-policy",
		"test/conformance/chainsaw/validating-policies/exceptions/cel-validation/invalid-update-v1beta1.yaml":         "unknown-policy",
		"test/conformance/chainsaw/validating-policies/exceptions/cel-validation/invalid-v1.yaml":                     "unknown-policy",
		"test/conformance/chainsaw/validating-policies/exceptions/cel-validation/invalid-v1alpha1.yaml":               "unknown-policy",
		"test/conformance/chainsaw/validating-policies/exceptions/cel-validation/invalid-v1beta1.yaml":                "unknown-policy",
		"test/conformance/chainsaw/validating-policies/exceptions/cel-validation/valid-v1beta1.yaml":                  "unknown-policy",
		"test/conformance/chainsaw/validating-policies/exceptions/wrong-exception/exception.yaml":                     "unknown-policy",
	}
	asked := []string{"unknown-policy", "unknown-rule", "useless-pod-security", shape.ReasonAutogenRules}
	got, checked := map[string]string{}, 0
	for _, docs := range kyvernoFolders(t) {
		checker := must.Get(shape.New(shape.Config{Policies: shape.ReadPolicies(docs)}))(t)
		for _, d := range docs {
			if _, is := d.Exception(); !is {
				continue
			}
			checked++
			for _, f := range checker.Check(d, now) {
				if slices.Contains(asked, f.Reason) {
					got[d.File()] = f.Reason
				}
			}
		}
	}
	expect.Equal(t, "findings", want, got)
	expect.AtLeast(t, "exceptions", 100, checked)
}

// engines are releases of Kyverno before and after every change that the check knows. The module
// proxy has none of 1.16.
var engines = []string{"v1.11.4", "v1.12.5", "v1.13.6", "v1.14.4", "v1.15.2", "v1.17.2", "v1.18.2", "v1.19.1"}

// definitions returns, for each API version of PolicyException that a release serves, the fields of its spec.
func definitions(t *testing.T, version string) map[string]map[string]any {
	t.Helper()
	served := map[string]map[string]any{}
	crds := filepath.Join(modcache.Dir(t, modcache.KyvernoModule+"@"+version), "config", "crds")
	for _, pattern := range []string{"kyverno.io_policyexceptions.yaml", "*/*kyverno.io_policyexceptions.yaml"} {
		files := must.Get(filepath.Glob(filepath.Join(crds, pattern)))(t)
		for _, file := range files {
			crd := must.Get(parseAll(must.Get(os.ReadFile(file))(t), file))(t)[0]
			versions, _ := crd.Lookup("spec", "versions")
			for n := range versions.([]any) {
				if isServed, _ := crd.Lookup("spec", "versions", n, "served"); isServed == true {
					fields, _ := crd.Lookup("spec", "versions", n, "schema", "openAPIV3Schema", "properties", "spec", "properties")
					served[crd.Text("spec", "group")+"/"+crd.Text("spec", "versions", n, "name")] = fields.(map[string]any)
				}
			}
		}
	}
	must.That(t, len(served) != 0, "Kyverno %s serves no PolicyException", version)
	return served
}

// TestEnginesAreKyvernos compares the check with the definitions of each release.
func TestEnginesAreKyvernos(t *testing.T) {
	fields := map[string][]string{
		exception.KyvernoGroup:  {"background", "conditions", "podSecurity"},
		exception.PoliciesGroup: {"matchConditions", "images", "allowedValues", "reportResult", "expiresAt", "properties", "evaluationMode"},
	}
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			served := definitions(t, engine)
			for _, api := range []string{"kyverno.io/v2alpha1", "kyverno.io/v2beta1", "kyverno.io/v2", "policies.kyverno.io/v1alpha1", "policies.kyverno.io/v1beta1", "policies.kyverno.io/v1"} {
				group := filepath.Dir(api)
				for _, field := range fields[group] {
					found := reasonsOf(t, engine, fmt.Sprintf("apiVersion: %s\nkind: PolicyException\nmetadata: {name: a, namespace: b}\nspec: {%s: x}\n", api, field))
					known, isServed := served[api]
					expect.That(t, slices.Contains(found, "unknown-version apiVersion") != isServed,
						"%s: the definitions serve it: %v; found %q", api, isServed, found)
					if _, isField := known[field]; isServed && slices.Contains(found, "unknown-field spec."+field) == isField {
						t.Errorf("%s spec.%s: the definitions have it: %v; found %q", api, field, isField, found)
					}
				}
			}
		})
	}
}

func reasonsOf(t *testing.T, engine, source string) []string {
	t.Helper()
	d := must.Get(exception.Parse([]byte(source), ""))(t)
	checker := must.Get(shape.New(shape.Config{KyvernoVersion: engine}))(t)
	var reasons []string
	for _, f := range checker.Check(d, now) {
		reasons = append(reasons, f.Reason+" "+f.Path.String())
	}
	return reasons
}
