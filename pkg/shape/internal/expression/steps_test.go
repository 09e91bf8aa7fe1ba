package expression_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/shape/internal/expression"
)

// stepCases are what evaluations take: at least so much that nobody can ask for
// much in a few steps, and at most so much that what people write is tried.
var stepCases = []struct {
	name, expression string
	least, most      int // 10,000 is all that there are
}{
	{"a field", "object.metadata.name == 'web'", 5, 10},
	{"a list of texts", "object.metadata.name in ['" + strings.Repeat("rule-1', '", 839) + "rule-1" + "']", 840, 5000},
	{"what a loop gathers", "size(lists.range(200).map(x, x)) == 0", 1000, 3000},
	{"what a loop picks", "size(lists.range(200).filter(x, x == 1)) == 0", 1000, 3000},
	{"a loop", "lists.range(100).exists(x, x < 0)", 700, 2000},
	{"a loop in a loop", "lists.range(100).exists(x, [x].exists(y, false))", 1500, 4000},
	{"a list that is made of a long one", "[lists.range(500)].exists(l, [l].exists(y, false))", 2000, 5000},
	{"such a list in a loop", "[lists.range(100)].exists(l, l.exists(x, [l].exists(y, false)))", 10_000, 10_000},
	{"a list of a long one, over and over", "[lists.range(100)].exists(l, [" + strings.Repeat("l, ", 99) + "l].exists(y, false))", 10_000, 10_000},
	{"a long list that is only read", "[lists.range(100)].exists(l, l.exists(x, size(l) < 0))", 10_000, 10_000},
	{"a sum of lists", "(lists.range(100) + lists.range(100) + lists.range(100)).exists(x, false)", 3300, 4000},
	{"sums of lists in a loop", "[lists.range(100)].exists(l, l.exists(x, size(l + l + l) < 0))", 10_000, 10_000},
	{"fields in a loop", "lists.range(100).exists(x, object.metadata.labels.a.b.c.d == 'x')", 1800, 2500},
	{"fields asked for in a loop", "lists.range(100).exists(x, has(object.metadata.labels.a))", 1400, 2500},
	{"ors in a loop", "lists.range(10).exists(x, " + strings.Repeat("x < 0 || ", 99) + "false)", 4000, 10_000},
	{"either of two in a loop", "lists.range(100).exists(x, x < 0 ? object.metadata.name == 'a' : false)", 1000, 3000},
	{"each of a list against each", "lists.range(100).distinct() == []", 2500, 10_000},
	{"each of one against each of another", "sets.contains(lists.range(100), lists.range(100))", 2500, 10_000},
	{"one set or another", "sets.intersects(lists.range(100), lists.range(100).map(x, x + 200))", 2500, 10_000},
	{"the same set", "sets.equivalent(lists.range(100), lists.range(100))", 2500, 10_000},
	{"a text in a text", "'" + strings.Repeat("a", 200) + "'.contains('" + strings.Repeat("a", 100) + "b')", 5000, 10_000},
	{"where a text is", "'" + strings.Repeat("a", 200) + "'.indexOf('" + strings.Repeat("a", 100) + "b') < 0", 5000, 10_000},
	{"where a text is last", "'" + strings.Repeat("a", 200) + "'.lastIndexOf('" + strings.Repeat("a", 100) + "b') < 0", 5000, 10_000},
	{"a pattern", "object.metadata.name.matches('^web-[0-9a-f]+$')", 10, 60},
	{"the pattern of a name", "object.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')", 100, 5000},
	{"a pattern that repeats", "object.metadata.name.matches('(x{0,100}){10}y')", 1000, 10_000},
	{"a pattern that repeats, made of two", "object.metadata.name.matches('(x{0,100}){10}' + 'y')", 4000, 10_000},
	{"a pattern that is looked for", "object.metadata.name.find('(x{0,100}){10}y') == ''", 4000, 10_000},
	{"all places of a pattern", "object.metadata.name.findAll('(x{0,100}){10}y') == []", 4000, 10_000},
	{"an optional value", "object.metadata.?labels['app'].orValue('web') == 'web'", 5, 30},
}

// evaluate evaluates a condition on a Pod that is created.
func evaluate(t *testing.T, text string) (value any, taken int, err error) {
	t.Helper()
	l, err := expression.ForConditions()
	if err != nil {
		t.Fatal(err)
	}
	c := l.Compile(text, expression.NewCompiling())
	if c.Problem != nil {
		return nil, 0, c.Problem
	}
	v, taken, err := c.Program.Eval(map[string]any{
		"object": map[string]any{
			"apiVersion": "v1", "kind": "Pod", "spec": map[string]any{},
			"metadata": map[string]any{"name": "a-name-of-twenty-nine-letters", "namespace": "team-a", "labels": map[string]any{"app": "db"}},
		},
		"oldObject": nil, "request": map[string]any{}, "namespaceObject": nil,
	})
	if err != nil {
		return nil, taken, err
	}
	return v.Value(), taken, nil
}

func TestSteps(t *testing.T) {
	for _, tc := range stepCases {
		_, taken, err := evaluate(t, tc.expression)
		if ended := err != nil && err.Error() == "it takes too many steps"; taken < tc.least || taken > tc.most || ended && tc.most < 10_000 {
			t.Errorf("%s: %s took %d steps, and not %d to %d: %v", tc.name, tc.expression, taken, tc.least, tc.most, err)
		}
	}
}

// TestOptionalValues: their methods are not cel-go's.
func TestOptionalValues(t *testing.T) {
	for expression, want := range map[string]any{
		"optional.of('a').orValue('b')":                                    "a",
		"optional.none().orValue('b')":                                     "b",
		"optional.of('a').or(optional.of('b')).value()":                    "a",
		"optional.none().or(optional.of('b')).value()":                     "b",
		"optional.none().or(optional.none()).orValue('c')":                 "c",
		"optional.of('a').orValue(string(1 / 0))":                          "a", // what is not needed is not evaluated
		"optional.of('a').or(optional.of(string(1 / 0))).value()":          "a",
		"optional.none().orValue(string(1 / 0))":                           nil,
		"optional.of(string(1 / 0)).orValue('b')":                          nil,
		"dyn('a').orValue('b')":                                            nil,
		"object.metadata.?nope.orValue('b')":                               "b",
		"object.?metadata.?nope.or(optional.of('a')).orValue('b')":         "a",
		"optional.of('a').optMap(x, x + 'b').or(optional.of('c')).value()": "ab",
	} {
		value, _, err := evaluate(t, expression+" == 'a' ? true : "+expression+" == 'b'")
		if want == nil && err == nil || want != nil && (err != nil || value != (want == "a" || want == "b")) {
			t.Errorf("%s: %v, %v", expression, value, err)
		}
	}
}

// TestCompilingIsBounded: what CEL would take seconds or hours to check is not
// given to it.
func TestCompilingIsBounded(t *testing.T) {
	many := func(part string) string {
		return strings.Repeat(part+" || ", 10_000/(len(part)+4)) + "object.metadata.name == 'web'"
	}
	for name, expression := range map[string]string{
		"a macro that repeats": "optional.of(object.metadata.name)" + strings.Repeat(".optMap(x, x)", 12) + ".orValue('a') == 'web'",
		"comparisons":          many("1==1"),
		"loops":                many("[1].exists(a,a==1)"),
		"lists":                many("[1]==[1]"),
		"maps":                 many("{1:1}=={}"),
	} {
		if _, _, err := evaluate(t, expression); err == nil || !strings.HasPrefix(err.Error(), "it is too much to compile") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, expression := range map[string]string{
		"a pattern that repeats": "object.metadata.name.matches('" + strings.Repeat("(x{100}){10}", 100) + "')",
		"several":                strings.Repeat("object.metadata.name.matches('(x{100}){10}') || ", 11) + "false",
		"to find":                "object.metadata.name.find('" + strings.Repeat("(x{100}){10}", 11) + "') == ''",
	} {
		if _, _, err := evaluate(t, expression); err == nil || !strings.Contains(err.Error(), "pattern") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := evaluate(t, strings.Repeat("object.metadata.name == 'web' || ", 300)+"false"); err != nil {
		t.Errorf("three hundred comparisons: %v", err)
	}
}
