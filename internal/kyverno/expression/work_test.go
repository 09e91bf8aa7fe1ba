package expression_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno/expression"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// compiled compiles a condition.
func compiled(t *testing.T, text string) *expression.Condition {
	t.Helper()
	l := must.Get(expression.ForConditions())(t)
	return l.Compile(text, expression.NewMeter())
}

// TestCompilingIsBounded: an expression that CEL would check for seconds or hours is rejected before.
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
		if c := compiled(t, expression); c.Problem == nil || !strings.HasPrefix(c.Problem.Error(), "together with the text before it, it is too long to compile") {
			t.Errorf("%s: %v", name, c.Problem)
		}
	}
	for name, expression := range map[string]string{
		"a pattern that repeats": "object.metadata.name.matches('" + strings.Repeat("(x{100}){10}", 100) + "')",
		"several":                strings.Repeat("object.metadata.name.matches('(x{100}){10}') || ", 11) + "false",
		"to find":                "object.metadata.name.find('" + strings.Repeat("(x{100}){10}", 11) + "') == ''",
	} {
		c := compiled(t, expression)
		expect.That(t, c.Problem != nil && strings.Contains(c.Problem.Error(), "pattern"), "%s: %v", name, c.Problem)
	}
	c := compiled(t, strings.Repeat("object.metadata.name == 'web' || ", 300)+"false")
	expect.That(t, c.Problem == nil, "three hundred comparisons: %v", c.Problem)
}
