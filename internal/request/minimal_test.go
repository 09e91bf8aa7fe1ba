package request_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// scene contains the resources of the violations, and resources that differ from them only in the
// name, the namespace, the kind or the group.
var scene = strings.Join([]string{
	resource("apps/v1", "Deployment", "team-a", "web"),
	resource("apps/v1", "Deployment", "team-a", "api"),
	resource("apps/v1", "Deployment", "team-b", "web"),
	resource("apps/v1", "StatefulSet", "team-a", "web"),
	resource("apps.example/v1", "Deployment", "team-a", "web"),
	resource("apps/v1", "ReplicaSet", "team-a", "web-5d8f7c9b6d"),
	resource("apps/v1", "ReplicaSet", "team-a", "web-api-5d8f7c9b6d"),
	resource("apps/v1", "ReplicaSet", "team-b", "web-5d8f7c9b6d"),
	resource("apps.example/v1", "ReplicaSet", "team-a", "web-5d8f7c9b6d"),
	resource("apps/v1", "DaemonSet", "team-a", "web-5d8f7c9b6d"),
	resource("v1", "Pod", "team-a", "web-5d8f7c9b6d-x2x4z"),
	resource("v1", "Pod", "team-a", "web-api-5d8f7c9b6d-x2x4z"),
	resource("v1", "Pod", "team-b", "web-5d8f7c9b6d-x2x4z"),
	resource("v1", "ConfigMap", "team-a", "web-5d8f7c9b6d-x2x4z"),
	resource("pods.example/v1", "Pod", "team-a", "web-5d8f7c9b6d-x2x4z"),
	resource("networking.k8s.io/v1", "Ingress", "team-a", "front"),
	resource("networking.k8s.io/v1", "Ingress", "team-a", "back"),
	resource("networking.k8s.io/v1", "Ingress", "team-b", "front"),
	resource("networking.k8s.io/v1", "NetworkPolicy", "team-a", "front"),
	resource("extensions/v1", "Ingress", "team-a", "front"),
}, "---\n")

// resource is a resource. One with the hash of a Pod template in its name has its label.
func resource(apiVersion, kind, namespace, name string) string {
	labels := ""
	if hash := "5d8f7c9b6d"; strings.Contains(name, hash) {
		labels = ", labels: {pod-template-hash: " + hash + "}"
	}
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: %s%s}\n", apiVersion, kind, name, namespace, labels)
}

// TestMinimal: each draft exempts the resources of its violation and no similar ones. Without any
// one of its restrictions, it would exempt more or be rejected.
func TestMinimal(t *testing.T) {
	known := shape.ReadPolicies(parse(t, policies))
	checker := must.Get(shape.New(shape.Config{Preset: "strict", Policies: known}))(t)
	resources := parse(t, scene)
	for _, tc := range []struct {
		violation request.Violation
		exempt    int
	}{
		// Kyverno's selectors cannot express the core group: "v1/Pod" is a Pod of any group, also of pods.example.
		{of("probes", "autogen-check", "Deployment", "team-a", "web"), 4},
		{of("probes", "replicas", "Deployment", "team-a", "web"), 1},
		{of("probes", "check", "Pod", "team-a", "web-5d8f7c9b6d-x2x4z"), 2},
		{of("team-a/labels", "check", "Ingress", "team-a", "front"), 1},
		{of("readiness", "", "Deployment", "team-a", "web"), 3},
		{of("readiness", "", "Pod", "team-a", "web-5d8f7c9b6d-x2x4z"), 1},
		{of("team-a/hosts", "", "Ingress", "team-a", "front"), 1},
	} {
		drafts, problems, err := request.New([]request.Violation{tc.violation}, request.Options{Policies: known, Statements: said})
		if err != nil || len(drafts) != 1 {
			t.Fatal(problems, err)
		}
		if got := len(exempts(t, drafts[0].Document, resources)); got != tc.exempt {
			t.Errorf("%s %s: %d exempt, want %d\n%s", tc.violation.Policy, tc.violation.Resource, got, tc.exempt, drafts[0].Source)
		}
		wider := append(withoutFields(t, drafts[0].Document), withoutConditions(t, drafts[0].Source)...)
		expect.That(t, len(wider) >= 3, "%s: only %d restrictions", tc.violation.Resource, len(wider))
		for _, doc := range wider {
			refused := false
			for _, f := range checker.Check(doc, now) {
				refused = refused || f.Severity == shape.Error
			}
			if !refused && len(exempts(t, doc, resources)) <= tc.exempt {
				object, _ := manifest.Readable(doc.Object())
				t.Errorf("%s: without a restriction, it exempts no more\n%s", tc.violation.Resource, object)
			}
		}
	}
}

// withoutFields removes one field of one filter each time, and uses all rules.
func withoutFields(t *testing.T, doc *exception.Document) []*exception.Document {
	t.Helper()
	value, there := doc.Lookup("spec", "match", "any")
	if !there {
		return nil
	}
	var all []*exception.Document
	changed := func(change func(spec map[string]any)) {
		object := doc.Object()
		change(object["spec"].(map[string]any))
		d := must.Get(exception.FromObject(object))(t)
		all = append(all, d)
	}
	for i := range value.([]any) {
		for _, field := range []string{"kinds", "names", "namespaces"} {
			changed(func(spec map[string]any) {
				delete(spec["match"].(map[string]any)["any"].([]any)[i].(map[string]any)["resources"].(map[string]any), field)
			})
		}
	}
	changed(func(spec map[string]any) { spec["exceptions"].([]any)[0].(map[string]any)["ruleNames"] = []any{"*"} })
	return all
}

var comparison = regexp.MustCompile(`object\.[a-z.A-Z]+( == '[^']*'|\.(matches|startsWith)\('[^']*'\))`)

// withoutConditions removes one comparison each time.
func withoutConditions(t *testing.T, source []byte) []*exception.Document {
	t.Helper()
	text := string(source)
	if !strings.Contains(text, "matchConditions") {
		return nil
	}
	var all []*exception.Document
	for _, at := range comparison.FindAllStringIndex(text, -1) {
		all = append(all, parse(t, text[:at[0]]+"true"+text[at[1]:])[0])
	}
	return all
}

// more returns policies for different kinds.
func more() string {
	text := policies
	for i := range 4 {
		text += fmt.Sprintf("---\n"+`apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: other-%d}
spec:
  rules:
  - name: check
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: m, pattern: {spec: {a: b}}}
  - name: own
    match: {any: [{resources: {kinds: [Deployment, StatefulSet, Ingress]}}]}
    validate: {message: m, pattern: {spec: {a: b}}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: cel-%[1]d}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
`, i)
	}
	return text
}

// exempted returns the exemptions of all drafts: each rule of each policy with each resource.
func exempted(t *testing.T, drafts []request.Draft, resources []*exception.Document) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, d := range drafts {
		found := exempts(t, d.Document, resources)
		for _, ref := range kyverno.Read(d.Document).Refs {
			rules := []string{""}
			for _, rule := range ref.Rules {
				rules = append(rules, rule.Text)
			}
			for _, rule := range rules {
				for _, resource := range found {
					all[fmt.Sprint(ref.Kind.Text, " ", ref.Name.Text, " ", rule, " ", resource)] = true
				}
			}
		}
	}
	return all
}

// TestMerge: for any violations, merged exceptions exempt the same as single ones. None exceeds the
// maximum number of policies.
func TestMerge(t *testing.T) {
	known := shape.ReadPolicies(parse(t, more()))
	resources := parse(t, scene)
	choices := []request.Violation{of("standards", "autogen-baseline", "Deployment", "team-a", "web"), of("images", "autogen-verify", "Deployment", "team-a", "web"), of("pods-alone", "check", "Pod", "team-a", "web-5d8f7c9b6d-x2x4z")}
	for _, policy := range []string{"probes", "other-0", "other-1", "other-2", "other-3"} {
		for _, rule := range []string{"autogen-check", "autogen-tag", "own", "replicas"} {
			for _, kind := range []string{"Deployment", "StatefulSet", "Ingress", "Pod"} {
				name := map[string]string{"Ingress": "front", "Pod": "web-5d8f7c9b6d-x2x4z"}[kind]
				if name == "" {
					name = "web"
				}
				if kind == "Pod" {
					rule = strings.TrimPrefix(rule, "autogen-")
				}
				choices = append(choices, of(policy, rule, kind, "team-a", name), of(policy, rule, kind, "team-b", name))
			}
		}
	}
	for i := range 4 {
		choices = append(choices, of(fmt.Sprint("cel-", i), "", "Deployment", "team-a", "web"), of(fmt.Sprint("cel-", i), "", "Deployment", "team-b", "web"))
	}
	random := rand.New(rand.NewPCG(1, 2))
	fewer, limited := 0, 0
	for range 100 {
		var violations []request.Violation
		for range 1 + random.IntN(12) {
			violations = append(violations, choices[random.IntN(len(choices))])
		}
		o := request.Options{Policies: known, Statements: said, MaxPolicies: random.IntN(4)}
		if random.IntN(2) == 0 {
			o.Objects = parse(t, manifests)
		}
		single, _, err := request.New(violations, o)
		must.Do(t, err)
		o.Merge = true
		merged, _, err := request.New(violations, o)
		must.Do(t, err)
		if diff := cmp.Diff(exempted(t, single, resources), exempted(t, merged, resources)); diff != "" {
			t.Fatalf("limit %d (-single +merged):\n%s", o.MaxPolicies, diff)
		}
		answers := func(drafts []request.Draft) []string {
			all := map[string]bool{}
			for _, d := range drafts {
				for _, v := range d.Answers {
					all[line(v)] = true
				}
			}
			return slices.Sorted(maps.Keys(all))
		}
		diff := cmp.Diff(answers(single), answers(merged))
		must.That(t, diff == "", "answers (-single +merged):\n%s", diff)
		if len(merged) < len(single) {
			fewer++
		}
		for _, d := range merged {
			refs := len(kyverno.Read(d.Document).Refs)
			if o.MaxPolicies > 0 && refs > o.MaxPolicies {
				t.Fatalf("%d policies, and %d are allowed\n%s", refs, o.MaxPolicies, d.Source)
			}
			if refs > 1 && refs == o.MaxPolicies {
				limited++
			}
		}
	}
	expect.That(t, fewer >= 10 && limited >= 5,
		"%d times fewer drafts, %d at the limit: nothing was tried", fewer, limited)
}

// TestMerged: one exception for a workload lists its policies and has its own name.
func TestMerged(t *testing.T) {
	known := shape.ReadPolicies(parse(t, more()))
	violations := []request.Violation{
		of("probes", "autogen-check", "Deployment", "team-a", "web"), of("other-0", "autogen-check", "Deployment", "team-a", "web"), of("other-1", "own", "Deployment", "team-a", "web"),
		of("standards", "autogen-baseline", "Deployment", "team-a", "web"),
		of("cel-0", "", "Deployment", "team-a", "web"), of("cel-1", "", "Deployment", "team-a", "web"),
	}
	violations[3].Controls = []request.Control{{Name: "Host Namespaces", Pod: true}}
	drafts, problems, err := request.New(violations, request.Options{Policies: known, Statements: said, Merge: true})
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	var got []string
	for _, d := range drafts {
		id := d.Document.Identity()
		got = append(got, id.Name[:len(id.Name)-10]+": "+d.Words)
	}
	const all = "exempts Deployment team-a/web, its ReplicaSets and its Pods from "
	diff := cmp.Diff([]string{
		"web-2-policies-: " + all + "the whole of ValidatingPolicy cel-0 and the whole of ValidatingPolicy cel-1",
		"web-2-policies-: " + all + "rules autogen-check and check of ClusterPolicy other-0 and rules autogen-check and check of ClusterPolicy probes",
		"web-other-1-: exempts Deployment team-a/web from rule own of ClusterPolicy other-1",
		"web-standards-: " + all + "rules autogen-baseline and baseline of ClusterPolicy standards, as to Host Namespaces",
	}, got)
	expect.That(t, diff == "", "(-want +got):\n%s", diff)
}
