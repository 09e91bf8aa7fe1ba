package translate

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// Regular expressions for "?". "*" is any number of them.
const (
	inName = "."      // a name has no line ends
	inFree = "(?s:.)" // other texts may have line ends
	inPart = "[^/]"   // of apiVersion
)

// regular converts a pattern to a regular expression without anchors.
func regular(pattern, one string) string {
	var b strings.Builder
	for _, r := range pattern {
		switch r {
		case '*':
			b.WriteString(one + "*")
		case '?':
			b.WriteString(one)
		case '.':
			b.WriteString("[.]") // equal to \., and easier to read in a literal
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return b.String()
}

// anyText reports whether a pattern matches every text, including the empty one.
func anyText(pattern string) bool { return pattern != "" && strings.Trim(pattern, "*") == "" }

// test compares a CEL text with a pattern.
func test(value, pattern, one string) string {
	if !wildcard.In(pattern) {
		return value + " == " + celText(pattern)
	}
	return value + ".matches(" + celText("^"+regular(pattern, one)+"$") + ")"
}

// among compares a CEL name with patterns of which one has to match. It returns "" if one of them matches every text.
func among(value string, patterns []string) string {
	if slices.ContainsFunc(patterns, anyText) {
		return ""
	}
	var exact, either []string
	for _, p := range patterns {
		if wildcard.In(p) {
			either = append(either, test(value, p, inName))
		} else {
			exact = append(exact, celText(p))
		}
	}
	switch len(exact) {
	case 0:
	case 1:
		either = slices.Insert(either, 0, value+" == "+exact[0])
	default:
		either = slices.Insert(either, 0, value+" in ["+strings.Join(exact, ", ")+"]")
	}
	return anyOf(either)
}

// present is among for a field that may be absent. An absent field is treated as empty.
func present(field string, patterns []string) string {
	condition := among(field, patterns)
	switch {
	case condition == "":
		return ""
	case slices.ContainsFunc(patterns, func(p string) bool { return wildcard.Fits(p, "") }):
		return fmt.Sprintf("(!has(%s) || %s)", field, condition)
	default:
		return fmt.Sprintf("has(%s) && %s", field, condition)
	}
}

func anyOf(conditions []string) string {
	if len(conditions) < 2 {
		return strings.Join(conditions, "")
	}
	return "(" + strings.Join(conditions, " || ") + ")"
}

// celText writes a CEL literal in plain ASCII.
func celText(text string) string {
	quoted := strconv.QuoteToASCII(text)
	inner := strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	return "'" + strings.ReplaceAll(inner, "'", `\'`) + "'"
}

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
		t.note(p.Path, p.Hint, "%s, and Kyverno matches nothing with it", p.Message)
	}
	labels := selector.Labels
	var all []string
	keys := slices.Sorted(maps.Keys(labels))
	for _, key := range keys {
		value := labels[key]
		// Kyverno replaces a pattern by a label that matches it, and keeps one value for each key.
		clash := func(other string) bool { return other != key && wildcard.Overlap(other, key) }
		if wildcard.In(key) && (len(keys) > maxPatterns || slices.ContainsFunc(keys, clash)) {
			t.note(selector.Path.With("matchLabels").With(key), "write each key in full",
				"%q may mean the label of another entry, and Kyverno uses one of the two "+"at random", key)
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
