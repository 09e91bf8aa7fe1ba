package shape_test

import (
	"slices"
	"testing"

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
