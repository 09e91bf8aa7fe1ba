package shape_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// FuzzContext uses each document of a stream as policy, resource, live exception and draft at once.
// There is always a result, it is deterministic, and a live exception has no finding about itself.
func FuzzContext(f *testing.F) {
	f.Add(legacy + "---\n" + policies + legacyPolicy("ClusterPolicy", "require-probes", checkRule) + celPolicy("ValidatingPolicy", "require-probes", onExceptions[0]))
	f.Add(exceptionFor("one", "p", "'c*', check", "{any: [{resources: {kinds: [Deployment], selector: {matchLabels: {'a*': b}}}}]}") + "---\n" +
		exceptionFor("two", "p", "check", "{all: [{resources: {kinds: ['*/*'], names: ['?*'], namespaceSelector: {}}}]}") + legacyPolicy("Policy", "a/p", guarding[5]))
	f.Add("apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: a}}, 3, {}]\n---\n" + object("v1/Namespace a", "labels: {x: 3}"))
	f.Add(conditional("one", "{name: p, kind: DeletingPolicy}, {name: p, kind: ValidatingPolicy}", "[request.operation == 'DELETE' ? oldObject : object].exists(o, o.metadata.name == 'a' || !has(o.metadata.labels.x))", "namespaceObject.metadata.labels[object.metadata.name] != object.spec.x") +
		"---\n" + conditional("two", "{name: p, kind: DeletingPolicy}", "object.metadata.name.startsWith('a') && object.metadata == oldObject.metadata") + "---\n" +
		object("v1/Namespace a", "labels: {x: y}") + "---\n" + object("v1/Pod a/a") + "---\napiVersion: v1\nkind: Pod\nmetadata: {generateName: a}\n")
	f.Fuzz(func(t *testing.T, stream string) {
		docs, err := parseAll([]byte(stream), "file.yaml")
		if err != nil {
			return
		}
		var listed []string
		for _, reason := range shape.Reasons() {
			listed = append(listed, reason.Name)
		}
		answer := func() (found []shape.Finding) {
			checker := must.Get(shape.New(
				shape.Config{Policies: shape.ReadPolicies(docs), Resources: shape.ReadResources(docs)}))(t)
			var set shape.Set
			set.Live(slices.Values(docs[:len(docs)/2]), now)
			for _, d := range docs {
				found = append(append(found, checker.Check(d, now)...), set.Add(d)...)
				if e := checker.Exempted(d); e.Count < len(e.Resources) || !e.Known && e.Count > 0 {
					t.Errorf("%+v", e)
				}
			}
			return found
		}
		first := answer()
		for _, f := range first {
			expect.That(t, slices.Contains(listed, f.Reason) && f.Message != "", "%+v", f)
		}
		expect.Equal(t, "findings", messages(first), messages(answer()))
	})
}

// messages returns what the findings say.
func messages(found []shape.Finding) []string {
	var all []string
	for _, f := range found {
		all = append(all, f.Message+" "+f.Hint)
	}
	return all
}

// bombs are expressions that compile and would be expensive to evaluate: in steps, in memory, or in
// the time of one step.
var bombs = []string{
	"'a'" + strings.Repeat(".replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')", 80) + " != object.x",
	"'a'" + strings.Repeat(".replace('', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')", 80) + " != ''",
	"['a']" + strings.Repeat(".map(x, x + x)", 90) + " != ['b']",
	"[['a']]" + strings.Repeat(".map(x, x + x)", 90) + " != [['b']]",
	"dyn(['a'])" + strings.Repeat(".map(x, dyn([x, x]))", 90) + " != dyn(['b'])",
	"[dyn({'a': 1})]" + strings.Repeat(".map(x, dyn({'a': x, 'b': x}))", 90) + " != [dyn(1)]",
	"lists.range(1000000000).size() > 0",
	"lists.range(100000).map(x, lists.range(100000)).size() > 0",
	"lists.range(4000).all(x, lists.range(4000).all(y, lists.range(4000).all(z, x + y + z >= 0)))",
	"lists.range(4000).map(x, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').join('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa') != ''",
	"'%.999999999f'.format([1.0]) != ''",
	"lists.range(4000).map(x, string(x)).distinct() != ['a']",
	"lists.range(1000).all(i, lists.range(1000).map(x, [x]) == lists.range(1000).map(x, [x]))",
	"lists.range(4000).all(i, '" + strings.Repeat("a", 4000) + "'.matches('(a*)*(a*)*b') || true)",
	"object.metadata.name.matches('" + strings.Repeat("(x{100}){10}", 100) + "') || true",
	"lists.range(4000).transformMap(k, v, lists.range(4000)).size() > 0",
	"[[1]]" + strings.Repeat(".map(x, [x, x].flatten())", 60) + " != [[1]]",
	strings.Repeat("lists.range(", 1) + strings.Repeat("size(lists.range(", 40) + "9" + strings.Repeat("))", 40) + ") != [1]",
}

// TestBombs: none of them is evaluated, and each has a finding.
func TestBombs(t *testing.T) {
	for _, bomb := range bombs {
		found := exceptReaches((change{of: policies, old: goodCondition, new: quote(bomb)}).findings(t))
		expect.That(t, len(found) != 0, "nothing is said about %.100s", bomb)
	}
	many := strings.Repeat("  - name: NAME\n    expression: lists.range(300).all(x, x >= 0)\n", 63)
	for i := range 63 {
		many = strings.Replace(many, "NAME", "b"+strings.Repeat("b", i), 1)
	}
	found := exceptReaches((change{of: policies, old: "  expiresAt", new: many + "  expiresAt"}).findings(t))
	expect.That(t, len(found) != 0, "nothing is said about many costly conditions")
}

// FuzzExpression: every text as a condition has a verdict, and the same verdict the second time.
func FuzzExpression(f *testing.F) {
	for _, c := range append(conditionCases, badExpressionCases...) {
		f.Add(c.new)
	}
	for _, c := range widthCases {
		f.Add(c.conditions)
	}
	for _, bomb := range bombs {
		f.Add(bomb)
	}
	checker := must.Get(shape.New(shape.Config{}))(f)
	f.Fuzz(func(t *testing.T, expression string) {
		d, err := exception.FromObject(map[string]any{
			"apiVersion": "policies.kyverno.io/v1", "kind": "PolicyException", "metadata": map[string]any{"name": "a", "namespace": "b"},
			"spec": map[string]any{"matchConditions": []any{map[string]any{"name": "c", "expression": expression}}},
		})
		if err != nil {
			t.Skip()
		}
		expect.Equal(t, "findings", messages(checker.Check(d, now)), messages(checker.Check(d, now)))
	})
}
