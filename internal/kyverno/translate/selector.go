package translate

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// labelsOf is a map of labels in CEL, and the condition under which it is there.
type labelsOf struct{ labels, guard string }

// with says that the labels are there and fit a condition.
func (l labelsOf) with(condition string) string { return l.guard + " && " + condition }

// has asks for a label, by its exact key.
func (l labelsOf) has(key string) string { return celText(key) + " in " + l.labels }

func (l labelsOf) value(key string) string { return l.labels + "[" + celText(key) + "]" }

// annotated writes annotations, of which each has to fit one of the resource's,
// key and value.
func annotated(patterns map[string]string) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(patterns)) {
		all = append(all, labelsOf{"it.metadata.annotations", "has(it.metadata.annotations)"}.fit(key, patterns[key]))
	}
	return all
}

// fit asks for a key and its value, either of which may be a pattern.
func (l labelsOf) fit(key, value string) string {
	if wildcard.In(key) {
		return l.with(fmt.Sprintf("%s.exists(k, %s && %s)", l.labels, test("k", key, inFree), test(l.labels+"[k]", value, inFree)))
	}
	if anyText(value) {
		return l.with(l.has(key))
	}
	return l.with(l.has(key) + " && " + test(l.value(key), value, inFree))
}

// Forms of label keys and values. A selector with others is an error to Kyverno,
// and matches nothing.
var (
	labelKeyForm   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelValueForm = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
)

// maxPatterns bounds the labels among which patterns are compared, each with each.
const maxPatterns = 32

// selected writes a label selector, or notes why there is none to write.
func (t *translator) selected(selector *kyverno.Selector, l labelsOf) []string {
	if selector == nil {
		return nil
	}
	labels, path := selector.Labels, selector.Path
	var all []string
	keys := slices.Sorted(maps.Keys(labels))
	for _, key := range keys {
		value := labels[key]
		at := path.With("matchLabels").With(key)
		// Kyverno puts a label that fits in the place of a pattern, and has one
		// place for each key.
		clash := func(other string) bool { return other != key && wildcard.Overlap(other, key) }
		switch {
		case wildcard.In(key) && (len(keys) > maxPatterns || slices.ContainsFunc(keys, clash)):
			t.note(at, fmt.Sprintf("%q may mean the label of another entry, and which of the two counts is chance in Kyverno", key), "write the keys out")
		case !wildcard.In(key) && !labelKeyForm.MatchString(key) || !wildcard.In(key+value) && !labelValueForm.MatchString(value):
			t.noSelector(at, key+": "+value)
		}
		all = append(all, l.fit(key, value))
	}
	for _, e := range selector.Expressions {
		all = append(all, t.expression(e, l))
	}
	return all
}

func (t *translator) expression(e kyverno.SelectorExpression, l labelsOf) string {
	key, values := e.Key.Text, kyverno.Texts(e.Values)
	if !labelKeyForm.MatchString(key) || slices.ContainsFunc(values, func(v string) bool { return !labelValueForm.MatchString(v) }) {
		t.noSelector(e.Path, key)
		return ""
	}
	literals := make([]string, len(values))
	for i, v := range values {
		literals[i] = celText(v)
	}
	among := fmt.Sprintf("%s && %s in [%s]", l.has(key), l.value(key), strings.Join(literals, ", "))
	switch operator := e.Operator; {
	case operator == "In" && len(values) > 0:
		return l.with(among)
	case operator == "NotIn" && len(values) > 0:
		return "!(" + l.with(among) + ")"
	case operator == "Exists" && len(values) == 0:
		return l.with(l.has(key))
	case operator == "DoesNotExist" && len(values) == 0:
		return "!(" + l.with(l.has(key)) + ")"
	default:
		t.noSelector(e.Path, fmt.Sprintf("%s %v of %d values", key, operator, len(values)))
		return ""
	}
}

func (t *translator) noSelector(path exception.Path, what string) {
	t.note(path, fmt.Sprintf("%q is nothing that labels can be selected by, and Kyverno matches nothing with it", what), "write it as Kubernetes reads it")
}

// inSelectedNamespaces writes the namespaceSelector, which an object of kind
// Namespace is not asked about. A resource without a namespace has a namespace
// without labels.
func (t *translator) inSelectedNamespaces(f kyverno.Filter) []string {
	all := t.selected(f.NamespaceSelector, labelsOf{"namespaceObject.metadata.labels", "namespaceObject != null && has(namespaceObject.metadata.labels)"})
	if len(all) == 0 || !mayBeNamespace(f) {
		return all
	}
	return []string{"(it.kind == 'Namespace' || " + strings.Join(all, " && ") + ")"}
}
