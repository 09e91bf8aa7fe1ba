package expression_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno/expression"
)

// compiled compiles a condition.
func compiled(t *testing.T, text string) (*expression.Language, *expression.Condition) {
	t.Helper()
	l, err := expression.ForConditions()
	if err != nil {
		t.Fatal(err)
	}
	return l, l.Compile(text, expression.NewCompiling())
}

// evaluated returns the value of a condition for a Pod that is created.
func evaluated(t *testing.T, text string) string {
	t.Helper()
	l, c := compiled(t, text)
	if c.Problem != nil {
		return c.Problem.Error()
	}
	if !expression.Evaluable(c.Checked.Expr()) {
		return "not evaluable"
	}
	program, err := l.Plan(c.Checked)
	if err != nil {
		return err.Error()
	}
	v, _, err := program.Eval(map[string]any{
		"object": map[string]any{
			"apiVersion": "v1", "kind": "Pod", "spec": map[string]any{},
			"metadata": map[string]any{"name": "a-name-of-twenty-nine-letters", "namespace": "team-a", "labels": map[string]any{"app": "db"}},
		},
		"oldObject": nil, "request": map[string]any{}, "namespaceObject": nil,
	})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(v.Value())
}

// TestEvaluable: an expression that could make a value larger than its inputs is not evaluated, and
// a long evaluation stops at the cost limit.
func TestEvaluable(t *testing.T) {
	for text, want := range map[string]string{
		"object.metadata.name == 'web'":                                                "false",
		"object.metadata.name in ['web', 'a-name-of-twenty-nine-letters']":             "true",
		"object.metadata.name.matches('^a-name') && size(object.metadata.labels) == 1": "true",
		"object.metadata.?labels['app'].orValue('') == 'db'":                           "true",
		"[object].exists(o, o.kind == 'Pod')":                                          "true",
		"object.metadata.labels.all(k, k == 'app')":                                    "true",
		"object.metadata.?nope.or(optional.of('a')).orValue('b') == 'a'":               "true",
		"object.nope == 'a'":                                                                    "no such key: nope",
		"object.metadata.name + 'b' == 'b'":                                                     "not evaluable",
		"[object, dyn([{'a': object}])].exists(o, true)":                                        "not evaluable",
		"[object, object].exists(o, o.kind == 'Pod')":                                           "not evaluable",
		"[{'a': object}].exists(o, o.a.kind == 'Pod')":                                          "true",
		"object.metadata.name.matches(object.kind)":                                             "not evaluable",
		"['(x{100}){10}'].exists(p, object.metadata.name.matches(p))":                           "not evaluable",
		"object.metadata.labels.map(k, k) == ['app']":                                           "not evaluable",
		"lists.range(1000000000).size() > 0":                                                    "not evaluable",
		"object.metadata.name.replace('a', 'bbb') == 'b'":                                       "not evaluable",
		"isIP(object.metadata.name)":                                                            "not evaluable",
		loops("true"):                                                                           "operation cancelled: actual cost limit exceeded",
		"object.metadata.name == 'web' && " + loops("true"):                                     "false",
		loops("object.metadata.name.matches('" + strings.Repeat("(x?)", 200) + "') || true"):    "operation cancelled: actual cost limit exceeded",
		"object.metadata.name == 'a-name-of-twenty-nine-letters' || " + loops("1 == 1 || true"): "true",
	} {
		if got := evaluated(t, text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// loops evaluates a condition a million times.
func loops(condition string) string {
	const ten = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		condition = ten + ".all(" + name + ", " + condition + ")"
	}
	return condition
}

// TestCompilingIsBounded: an expression that CEL would check for seconds or hours is rejected
// before.
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
		if _, c := compiled(t, expression); c.Problem == nil || !strings.HasPrefix(c.Problem.Error(), "together with the text before it, it is too long to compile") {
			t.Errorf("%s: %v", name, c.Problem)
		}
	}
	for name, expression := range map[string]string{
		"a pattern that repeats": "object.metadata.name.matches('" + strings.Repeat("(x{100}){10}", 100) + "')",
		"several":                strings.Repeat("object.metadata.name.matches('(x{100}){10}') || ", 11) + "false",
		"to find":                "object.metadata.name.find('" + strings.Repeat("(x{100}){10}", 11) + "') == ''",
	} {
		if _, c := compiled(t, expression); c.Problem == nil || !strings.Contains(c.Problem.Error(), "pattern") {
			t.Errorf("%s: %v", name, c.Problem)
		}
	}
	if _, c := compiled(t, strings.Repeat("object.metadata.name == 'web' || ", 300)+"false"); c.Problem != nil {
		t.Errorf("three hundred comparisons: %v", c.Problem)
	}
}
