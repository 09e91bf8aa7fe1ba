package request_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

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
		if err != nil {
			t.Fatal(err)
		}
		o.Merge = true
		merged, _, err := request.New(violations, o)
		if err != nil {
			t.Fatal(err)
		}
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
		if diff := cmp.Diff(answers(single), answers(merged)); diff != "" {
			t.Fatalf("answers (-single +merged):\n%s", diff)
		}
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
	if fewer < 10 || limited < 5 {
		t.Errorf("%d times fewer drafts, %d at the limit: nothing was tried", fewer, limited)
	}
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
	if diff := cmp.Diff([]string{
		"web-2-policies-: " + all + "the whole of ValidatingPolicy cel-0 and the whole of ValidatingPolicy cel-1",
		"web-2-policies-: " + all + "rules autogen-check and check of ClusterPolicy other-0 and rules autogen-check and check of ClusterPolicy probes",
		"web-other-1-: exempts Deployment team-a/web from rule own of ClusterPolicy other-1",
		"web-standards-: " + all + "rules autogen-baseline and baseline of ClusterPolicy standards, as to Host Namespaces",
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
