package translate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// labelsOf is a CEL map of labels, and the condition for its existence.
type labelsOf struct{ labels, guard string }

// with requires that the labels exist and match a condition.
func (l labelsOf) with(condition string) string { return l.guard + " && " + condition }

// has requires a label by its exact key.
func (l labelsOf) has(key string) string { return celText(key) + " in " + l.labels }

func (l labelsOf) value(key string) string { return l.labels + "[" + celText(key) + "]" }

// annotated writes annotations. Each key and value has to match an annotation of the resource.
func annotated(patterns map[string]string) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(patterns)) {
		all = append(all, labelsOf{"it.metadata.annotations", "has(it.metadata.annotations)"}.fit(key, patterns[key]))
	}
	return all
}

// fit requires a key and its value. Both may be patterns.
func (l labelsOf) fit(key, value string) string {
	if wildcard.In(key) {
		return l.with(fmt.Sprintf("%s.exists(k, %s && %s)", l.labels, test("k", key, inFree),
			test(l.labels+"[k]", value, inFree)))
	}
	if anyText(value) {
		return l.with(l.has(key))
	}
	return l.with(l.has(key) + " && " + test(l.value(key), value, inFree))
}

// maxPatterns limits the labels with patterns, because each pair is compared.
const maxPatterns = 32

// selected writes a label selector, or adds notes.
func (t *translator) selected(selector *kyverno.Selector, l labelsOf) []string {
	if selector == nil {
		return nil
	}
	for _, p := range selector.Problems() {
		t.note(p.Path, p.Message+", and Kyverno matches nothing with it", p.Hint)
	}
	labels := selector.Labels
	var all []string
	keys := slices.Sorted(maps.Keys(labels))
	for _, key := range keys {
		value := labels[key]
		// Kyverno replaces a pattern by a label that matches it, and keeps one value for each key.
		clash := func(other string) bool { return other != key && wildcard.Overlap(other, key) }
		if wildcard.In(key) && (len(keys) > maxPatterns || slices.ContainsFunc(keys, clash)) {
			t.note(selector.Path.With("matchLabels").With(key),
				fmt.Sprintf("%q may mean the label of another entry, and Kyverno uses one of the two at random", key),
				"write each key in full")
		}
		all = append(all, l.fit(key, value))
	}
	for _, e := range selector.Expressions {
		all = append(all, l.expression(e))
	}
	return all
}

// expression writes one of matchExpressions without problems.
func (l labelsOf) expression(e kyverno.SelectorExpression) string {
	key := e.Key.Text
	literals := make([]string, len(e.Values))
	for i, v := range e.Values {
		literals[i] = celText(v.Text)
	}
	among := l.with(fmt.Sprintf("%s && %s in [%s]", l.has(key), l.value(key), strings.Join(literals, ", ")))
	switch e.Operator {
	case "In":
		return among
	case "NotIn":
		return "!(" + among + ")"
	case "Exists":
		return l.with(l.has(key))
	default:
		return "!(" + l.with(l.has(key)) + ")"
	}
}

// inSelectedNamespaces writes the namespaceSelector. It does not apply to Namespaces. A resource
// without a namespace is treated like one in a namespace without labels.
func (t *translator) inSelectedNamespaces(f kyverno.Filter) []string {
	all := t.selected(f.NamespaceSelector,
		labelsOf{"namespaceObject.metadata.labels", "namespaceObject != null && has(namespaceObject.metadata.labels)"})
	if len(all) == 0 || !mayBeNamespace(f) {
		return all
	}
	return []string{"(it.kind == 'Namespace' || " + strings.Join(all, " && ") + ")"}
}
