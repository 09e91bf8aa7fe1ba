package kyverno_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const everyField = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: a, namespace: b}
spec:
  background: false
  exceptions:
  - {policyName: team-a/probes, ruleNames: [check, "autogen-*"]}
  - {policyName: limits, ruleNames: []}
  - {policyName: none}
  match:
    any:
    - resources:
        kinds: [Pod]
        names: [web]
        name: api
        namespaces: [team-a]
        annotations: {a: b}
        selector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: In, values: [gold]}]}
        namespaceSelector: {}
        operations: [CREATE]
      roles: [a:b]
      clusterRoles: [admin]
      subjects: [{kind: User, name: alice}]
    all:
    - {resources: {kinds: [Deployment]}}
    - {roles: []}
  podSecurity: [{controlName: Seccomp, images: ["*"], restrictedField: spec.x, values: [z]}]
  conditions: {any: []}
`

// told returns texts with their paths.
func told(all []kyverno.Located) (lines []string) {
	for _, one := range all {
		lines = append(lines, one.Path.String()+" = "+one.Text)
	}
	return lines
}

func TestReadMatch(t *testing.T) {
	e := kyverno.Read(document(t, everyField))
	if e == nil || !e.ByMatch || e.Background || e.Preconditions == nil || len(e.Unread) > 0 {
		t.Fatalf("%+v", e)
	}
	var all []kyverno.Located
	for _, ref := range e.Refs {
		all = append(append(all, ref.Name), ref.Rules...)
	}
	f := e.Match.Any[0]
	for _, list := range [][]kyverno.Located{f.Kinds, f.Named(), f.Namespaces, f.Operations, f.Roles, f.ClusterRoles, {f.Selector.Expressions[0].Key}, f.Selector.Expressions[0].Values, e.PodSecurity[0].Images, e.PodSecurity[0].Values} {
		all = append(all, list...)
	}
	want := strings.Split(`spec.exceptions[0].policyName = team-a/probes
spec.exceptions[0].ruleNames[0] = check
spec.exceptions[0].ruleNames[1] = autogen-*
spec.exceptions[1].policyName = limits
spec.exceptions[2].policyName = none
spec.match.any[0].resources.kinds[0] = Pod
spec.match.any[0].resources.names[0] = web
spec.match.any[0].resources.name = api
spec.match.any[0].resources.namespaces[0] = team-a
spec.match.any[0].resources.operations[0] = CREATE
spec.match.any[0].roles[0] = a:b
spec.match.any[0].clusterRoles[0] = admin
spec.match.any[0].resources.selector.matchExpressions[0].key = tier
spec.match.any[0].resources.selector.matchExpressions[0].values[0] = gold
spec.podSecurity[0].images[0] = *
spec.podSecurity[0].values[0] = z`, "\n")
	expect.Equal(t, "result", want, told(all))
	expect.That(t, e.Refs[1].Rules != nil && e.Refs[2].Rules == nil, "an empty list of rules is not the same as none")
	if f.Selector.Labels["app"] != "web" || f.NamespaceSelector == nil || f.Annotations["a"] != "b" || f.Subjects[0].Name != "alice" || f.Empty() || e.Match.All[0].Empty() || !e.Match.All[1].Empty() {
		t.Errorf("%+v", f)
	}
}

func TestReadConditions(t *testing.T) {
	e := kyverno.Read(document(t, celHead+"spec:\n  policyRefs: [{name: probes, kind: ValidatingPolicy}]\n  matchConditions: [{name: one, expression: 'true'}]\n  images: [a]\n  allowedValues: [b]\n  match: {any: [{}]}\n"))
	must.That(t, e != nil && !e.ByMatch && len(e.Match.Filters()) == 0 && len(e.Unread) == 0, "%+v", e)
	all := []kyverno.Located{e.Refs[0].Name, e.Refs[0].Kind, e.Conditions[0].Name, e.Conditions[0].Expression, e.Images[0], e.AllowedValues[0]}
	want := []string{
		"spec.policyRefs[0].name = probes", "spec.policyRefs[0].kind = ValidatingPolicy", "spec.matchConditions[0].name = one",
		"spec.matchConditions[0].expression = true", "spec.images[0] = a", "spec.allowedValues[0] = b",
	}
	expect.Equal(t, "result", want, told(all))
	expect.That(t, kyverno.Read(document(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")) == nil,
		"a Pod is read as an exception")
}

// TestUnread: a value of another type than its field is listed for every field, and such an
// exception reaches the guard.
func TestUnread(t *testing.T) {
	must.That(t, !reaches(t, everyField), "what can be read reaches the guard already")
	for _, tc := range []struct{ old, new, want string }{
		{"kinds: [Pod]", "kinds: Pod", "spec.match.any[0].resources.kinds: a text instead of a list"},
		{"kinds: [Pod]", "kinds: [Pod, 1]", "spec.match.any[0].resources.kinds[1]: a number instead of a text"},
		{"name: api", "name: [api]", "spec.match.any[0].resources.name: a list instead of a text"},
		{"annotations: {a: b}", "annotations: {a: true}", "spec.match.any[0].resources.annotations.a: true or false instead of a text"},
		{"{app: web}", "{app: 1}", "spec.match.any[0].resources.selector.matchLabels.app: a number instead of a text"},
		{"values: [gold]", "values: gold", "spec.match.any[0].resources.selector.matchExpressions[0].values: a text instead of a list"},
		{"namespaceSelector: {}", "namespaceSelector: []", "spec.match.any[0].resources.namespaceSelector: a list instead of keys with values"},
		{"roles: [a:b]", "roles: {a: b}", "spec.match.any[0].roles: keys with values instead of a list"},
		{"{kind: User, name: alice}", "alice", "spec.match.any[0].subjects[0]: a text instead of keys with values"},
		{"policyName: limits", "policyName: {a: b}", "spec.exceptions[1].policyName: keys with values instead of a text"},
		{"ruleNames: []", "ruleNames: [[a]]", "spec.exceptions[1].ruleNames[0]: a list instead of a text"},
		{"{roles: []}", "3", "spec.match.all[1]: a number instead of keys with values"},
		{`images: ["*"]`, "images: 1", "spec.podSecurity[0].images: a number instead of a list"},
		{"conditions: {any: []}", "conditions: []", "spec.conditions: a list instead of keys with values"},
	} {
		expect.Contains(t, everyField, tc.old)
		doc := document(t, strings.Replace(everyField, tc.old, tc.new, 1))
		e := kyverno.Read(doc)
		if len(e.Unread) != 1 {
			t.Errorf("%s: %v", tc.new, e.Unread)
			continue
		}
		u := e.Unread[0]
		expect.Is(t, tc.new, tc.want, u.Path.String()+": "+u.Found+" instead of "+u.Expected)
		expect.That(t, kyverno.ReachesGuard(doc, kyverno.Guard{}).Reaches(), "%s does not reach the guard", tc.new)
	}
	many := kyverno.Read(document(t, strings.Replace(everyField, "kinds: [Pod]", "kinds: ["+strings.Repeat("1, ", 500)+"1]", 1)))
	n := len(many.Unread)
	expect.That(t, n != 0 && n <= 200, "%d are listed", n)
}
