//go:build e2e

package request

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/modcache"
	"github.com/polex-dev/polex/test/must"
)

// sample has policies of Kyverno's own tests with their resources.
type sample struct {
	name string
	question
}

// samples returns the samples in Kyverno's CLI tests, and in its conformance tests for Pod
// security. They are read from Kyverno's source.
func samples(t *testing.T) []sample {
	t.Helper()
	source := modcache.Dir(t, modcache.Kyverno)
	var all []sample
	for _, folder := range []string{"test/cli/test", "test/cli/test-validating-policy", "test/cli/test-image-validating-policy"} {
		err := filepath.WalkDir(filepath.Join(source, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || entry.Name() != "kyverno-test.yaml" {
				return err
			}
			if s, ok := declared(path); ok {
				s.name, _ = filepath.Rel(source, filepath.Dir(path))
				all = append(all, s)
			}
			return nil
		})
		must.Do(t, err)
	}
	psa := filepath.Join(source, "test/conformance/chainsaw/validate/clusterpolicy/standard/psa")
	folders := must.Get(os.ReadDir(psa))(t)
	for _, folder := range folders {
		s := sample{name: "psa/" + folder.Name()}
		s.policies = joined(filepath.Join(psa, folder.Name()), "policy.yaml")
		files, _ := filepath.Glob(filepath.Join(psa, folder.Name(), "*pod*.yaml"))
		for _, file := range files {
			s.resources += joined(filepath.Dir(file), filepath.Base(file))
		}
		if s.policies != "" && s.resources != "" {
			all = append(all, s)
		}
	}
	return all
}

// declared reads a test of Kyverno's CLI that expects a failure: its policies, resources and values.
func declared(path string) (sample, bool) {
	var test struct {
		Policies, Resources, Exceptions []string
		Variables                       string
		Results                         []struct{ Result string }
	}
	raw, err := os.ReadFile(path)
	if err != nil || yaml.Unmarshal(raw, &test) != nil || len(test.Exceptions) > 0 {
		return sample{}, false
	}
	fails := false
	for _, r := range test.Results {
		fails = fails || r.Result == "fail"
	}
	if !fails {
		return sample{}, false
	}
	dir := filepath.Dir(path)
	s := sample{question: question{policies: joined(dir, test.Policies...), resources: joined(dir, test.Resources...)}}
	if test.Variables != "" {
		s.values = joined(dir, test.Variables)
	}
	return s, s.policies != "" && s.resources != ""
}

// joined returns the concatenated files, or "" if one is missing.
func joined(dir string, files ...string) string {
	var parts []string
	for _, file := range files {
		raw, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
		if err != nil {
			return ""
		}
		parts = append(parts, strings.TrimSuffix(strings.TrimPrefix(string(raw), "---\n"), "\n")+"\n")
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "---\n") + "---\n"
}

// inNoNamespace are kinds in the samples without a namespace.
var inNoNamespace = []string{"Namespace", "ClusterRole", "ClusterRoleBinding", "Node", "FlowSchema", "CustomResourceDefinition"}

// The names of siblings.
const (
	sibling   = "-sibling"
	elsewhere = "elsewhere"
)

// withSiblings adds two siblings of each resource: one with another name in the same namespace, and
// one with the same name in another namespace. Both have the same violations.
func withSiblings(t *testing.T, resources string) string {
	t.Helper()
	docs := documents(resources)
	text := ""
	add := func(object map[string]any) {
		raw := must.Get(yaml.Marshal(object))(t)
		text += string(raw) + "---\n"
	}
	names := map[string]bool{}
	for _, d := range docs {
		names[d.Identity().String()] = true
	}
	for _, d := range docs {
		add(d.Object())
		for _, change := range []func(metadata map[string]any){
			func(metadata map[string]any) { metadata["name"] = d.Identity().Name + sibling },
			func(metadata map[string]any) { metadata["namespace"] = elsewhere },
		} {
			object := d.Object()
			metadata, _ := object["metadata"].(map[string]any)
			if d.Identity().Name == "" || metadata == nil {
				continue
			}
			change(metadata)
			changed, err := exception.FromObject(object)
			if err != nil || names[changed.Identity().String()] || slices.Contains(inNoNamespace, d.Identity().Kind) && metadata["namespace"] != nil {
				continue
			}
			add(object)
		}
	}
	return text
}

var said = request.Statements{Reason: "this is a test", Ticket: "SEC-1", Owner: "team-a", ExpiresIn: "7d"}

// drafts returns the drafts from the report of Kyverno's CLI, for the resources of the sample and
// not for their siblings.
func drafts(t *testing.T, s sample, printed string) []request.Draft {
	t.Helper()
	var violations []request.Violation
	for part := range strings.SplitSeq(printed[max(0, strings.IndexByte(printed, '{')):], "\n---\n") {
		for _, doc := range documents(part) {
			report, problem := request.FromReport(doc)
			must.That(t, problem == nil, "%+v", problem)
			violations = append(violations, report.Violations...)
		}
	}
	violations = slices.DeleteFunc(violations, func(v request.Violation) bool {
		return strings.HasSuffix(v.Resource.Name, sibling) || v.Resource.Namespace == elsewhere
	})
	found, problems, err := request.New(violations, request.Options{
		Policies: shape.ReadPolicies(documents(s.policies)), Objects: documents(s.resources), Namespace: "exceptions", Statements: said,
	})
	must.Do(t, err)
	for _, p := range problems {
		if p.Reason == request.ReasonSubresource {
			continue // the missing data is unknown
		}
		t.Errorf("no draft for %s %s, %s: %s [%s]", p.Violation.Policy, p.Violation.Rule, p.Violation.Resource, p.Message, p.Reason)
	}
	return found
}

// TestKyvernosPolicies: for each policy of Kyverno's tests with a violation, the drafts exempt exactly these
// violations. All others still fail, such as siblings of the resources and other rules.
func TestKyvernosPolicies(t *testing.T) {
	policies, exempt, kinds := map[string]bool{}, 0, map[string]int{}
	for _, s := range samples(t) {
		t.Run(s.name, func(t *testing.T) {
			s.resources = withSiblings(t, s.resources)
			printed, before := s.ask(t)
			found := drafts(t, s, printed)
			if len(found) == 0 {
				t.Skip("nothing is violated that Kyverno's CLI knows of by itself")
			}
			answered := map[string]bool{}
			for _, d := range found {
				// One StatefulSet of these tests has a name that no API server accepts: never-matches is right.
				if name := d.Answers[0].Resource.Name; name == strings.ToLower(name) {
					strict(t, s, d)
				}
				s.exceptions += string(d.Source) + "---\n"
				for _, v := range d.Answers {
					answered[v.Policy+" "+v.Resource.Kind+" "+v.Resource.Namespace+"/"+v.Resource.Name+" "+v.Rule] = true
				}
			}
			_, after := s.ask(t)
			for _, key := range slices.Sorted(maps.Keys(before)) {
				parts := strings.SplitN(key, " ", 3)
				policy, rule, resource := parts[0], parts[1], parts[2]
				asked := before[key] == "fail" && (answered[policy+" "+resource+" "+rule] || answered[policy+" "+resource+" "])
				switch {
				case asked && after[key] != "skip":
					t.Errorf("%s is %q, and a draft was to exempt it", key, after[key])
				case !asked && after[key] != before[key]:
					t.Errorf("%s is %q, and was %q before anything was exempt", key, after[key], before[key])
				case asked:
					exempt++
					policies[s.name+" "+policy] = true
				}
			}
			for _, d := range found {
				ref := kyverno.Read(d.Document).Refs[0]
				kinds[ref.Group+" "+ref.Kind.Text]++
			}
		})
	}
	t.Logf("%d violations of %d policies, drafts by kind of policy: %v", exempt, len(policies), kinds)
	expect.That(t, len(policies) >= 30 && len(kinds) >= 2,
		"only %d policies were violated, of %d kinds", len(policies), len(kinds))
}

// strict checks a draft with the strictest settings.
func strict(t *testing.T, s sample, d request.Draft) {
	t.Helper()
	for _, f := range findings(t, s, d.Document) {
		// A policy about resources of any kind also protects exceptions, so no exception from it is allowed.
		if f.Severity == shape.Error && f.Reason != shape.ReasonReachesGuard {
			t.Errorf("%s: %s\n%s", f.Reason, f.Message, d.Source)
		}
	}
}

func findings(t *testing.T, s sample, doc *exception.Document) []shape.Finding {
	t.Helper()
	config := shape.Config{Preset: "strict", Policies: shape.ReadPolicies(documents(s.policies))}
	return must.Get(shape.New(config))(t).Check(doc, time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC))
}

// TestOtherControls: an exception from a control of Pod security does not change the other
// controls, nor the same control for other images.
func TestOtherControls(t *testing.T) {
	const policies = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: standards}\nspec:\n  validationFailureAction: Enforce\n  rules:\n  - name: baseline\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {podSecurity: {level: baseline, version: latest}}\n"
	with := func(spec string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: team-a}\nspec: {" + spec + "}\n"
	}
	const privileged = "{name: a, image: registry.example/a, securityContext: {privileged: true}}"
	asked := sample{question: question{policies: policies, resources: with("containers: [" + privileged + "]")}}
	printed, _ := asked.ask(t)
	found := drafts(t, asked, printed)
	must.That(t, len(found) == 1, "%d drafts", len(found))
	for spec, want := range map[string]string{
		"containers: [" + privileged + "]":                    "skip",
		"hostNetwork: true, containers: [" + privileged + "]": "fail",
		"containers: [" + privileged + ", {name: b, image: registry.example/b, securityContext: {privileged: true}}]":                 "fail",
		"containers: [" + privileged + ", {name: b, image: registry.example/a, securityContext: {capabilities: {add: [SYS_ADMIN]}}}]": "fail",
	} {
		q := question{policies: policies, resources: with(spec), exceptions: string(found[0].Source)}
		if _, after := q.ask(t); after["standards baseline Pod team-a/web"] != want {
			t.Errorf("%s: %v, want %s\n%s", spec, after, want, found[0].Source)
		}
	}
}
