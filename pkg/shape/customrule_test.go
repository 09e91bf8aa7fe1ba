package shape_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
)

func rule(expression string) shape.Config {
	return shape.Config{Rules: []shape.Rule{{Name: "our-rule", Expression: expression}}}
}

var broken = []string{"1 our-rule ."}

var ruleCases = []change{
	{name: "a warning", of: legacy, config: shape.Config{Rules: []shape.Rule{{Name: "our-rule", Expression: "false", Severity: shape.Warning}}}, want: []string{"1 our-rule . (warning)"}},
	{name: "several, of which one is broken", of: legacy, config: shape.Config{Rules: []shape.Rule{
		{Name: "one", Expression: "true"}, {Name: "our-rule", Expression: "exception.ticket != ''"}, {Name: "three", Expression: "exception.reason != ''"},
	}}, want: broken},
	{name: "beside other findings", of: legacy, config: rule("false"), old: "    polex.dev/expires-in: 7d\n", new: "", want: []string{"1 our-rule .", "6 no-expiry metadata.annotations"}},
	{name: "not of what is no exception", of: legacy, config: rule("false"), old: "kind: PolicyException", new: "kind: Pod", want: []string{"2 not-an-exception kind"}},
	{name: "a value that is not there", of: legacy, config: rule("object.spec.properties.ticket != ''"), want: broken},
	{name: "a label that is not there", of: legacy, config: rule("exception.labels['team'] == 'a'"), want: broken},
	{name: "an index that is not there", of: legacy, config: rule("exception.policies[1].name == ''"), want: broken},
	{name: "a type that is another", of: legacy, config: rule("object.spec + 1 == 2"), want: broken},
	{name: "a loop without an end in sight", of: legacy, config: rule("lists.range(2000).all(x, lists.range(2000).all(y, lists.range(2000).all(z, x + y + z >= 0)))"), want: broken},
	{name: "a value without an end in sight", of: legacy, config: rule("['a']" + strings.Repeat(".map(x, x + x)", 90) + " != ['b']"), want: broken},
	{name: "what is absent is asked for", of: legacy, config: rule("!has(object.spec.properties) || object.spec.properties.ticket != ''")},
	{name: "what is absent has a default", of: legacy, config: rule("object.spec.?properties.?ticket.orValue('none') == 'none'")},
	{name: "a hundred rules of a policy", of: legacy, config: rule("exception.policies.all(p, p.rules.map(r, r + '!').distinct().size() == 101)"), old: "[check,", new: "[" + manyNames(100) + ","},
}

func manyNames(n int) string {
	var names []string
	for i := range n {
		names = append(names, "rule-"+strconv.Itoa(i))
	}
	return strings.Join(names, ", ")
}

func init() {
	// The view is the same for both API groups.
	for _, expression := range []string{
		"exception.name == 'web-probes' && exception.namespace == 'team-a'", "exception.reason.startsWith('the vendor')", "exception.ticket == '' && exception.owner == '' && exception.category == ''",
		"exception.policies.size() == 1 && exception.policies[0].name == 'require-probes'", "exception.policies.all(p, p.name.startsWith('require-'))",
		"exception.group.endsWith('kyverno.io') && exception.version in ['v1', 'v2']", "exception.labels.size() == 0", "object.metadata.name == exception.name",
		"exception.expiresIn != '' || exception.expiresAt != ''", "exception.namespace.startsWith('team-') && !exception.namespace.contains('..')",
		"math.greatest(1, exception.policies.size()) == 1", "sets.contains(['team-a', 'team-b'], [exception.namespace])", "exception.policies.map(p, p.name).join(',') == 'require-probes'",
		"exception.expiresAt == '' || timestamp(exception.expiresAt) < timestamp('2030-01-01T00:00:00Z')", "exception.namespace.matches('^team-[a-z]+$')",
	} {
		for _, of := range []string{legacy, policies} {
			ruleCases = append(ruleCases,
				change{name: "holds: " + expression, of: of, config: rule(expression)},
				change{name: "broken: " + expression, of: of, config: rule("!(" + expression + ")"), want: broken})
		}
	}
	for _, tc := range []struct{ of, expression string }{
		{legacy, "exception.policies[0].rules == ['check', 'autogen-check'] && exception.policies[0].kind == ''"},
		{legacy, "exception.expiresIn == '7d' && exception.expiresAt == ''"},
		{legacy, "exception.annotations['polex.dev/reason'] == exception.reason"},
		{legacy, "object.spec.match.any.all(f, f.resources.kinds.all(k, k in ['Deployment', 'StatefulSet']))"},
		{policies, "exception.policies[0].rules == [] && exception.policies[0].kind == 'ValidatingPolicy'"},
		{policies, "exception.expiresAt == '2026-06-08T12:00:00Z' && exception.expiresIn == ''"},
		{policies, "exception.annotations.size() == 0 && object.spec.properties.reason == exception.reason"},
	} {
		ruleCases = append(ruleCases, change{name: "holds: " + tc.expression, of: tc.of, config: rule(tc.expression)},
			change{name: "broken: " + tc.expression, of: tc.of, config: rule("!(" + tc.expression + ")"), want: broken})
	}
}

func TestRulesAreRefused(t *testing.T) {
	for name, rules := range map[string][]shape.Rule{
		"is not a valid":      {{Name: "OurRule", Expression: "true"}},
		"is not a valid name": {{Name: "", Expression: "true"}},
		"a valid name":        {{Name: "our--rule", Expression: "true"}},
		"rule 1: \"our-":      {{Name: "our-", Expression: "true"}},
		"rule 1: \"1-our":     {{Name: "1-our", Expression: "true"}},
		"rule 1: \"aaaaa":     {{Name: strings.Repeat("a", 64), Expression: "true"}},
		"rule 2: \"our-rule\" is already the name of rule 1":    {{Name: "our-rule", Expression: "true"}, {Name: "our-rule", Expression: "true"}},
		"\"no-expiry\" is already the name of a check of polex": {{Name: "no-expiry", Expression: "true"}},
		"\"duplicate-identity\" is already":                     {{Name: "duplicate-identity", Expression: "true"}},
		"severity 7 is neither Error nor Warning":               {{Name: "our-rule", Expression: "true", Severity: 7}},
		"type dyn, and a bool is needed":                        {{Name: "our-rule", Expression: "object.x"}},
		"type string, and a bool is needed":                     {{Name: "our-rule", Expression: "exception.name"}},
		"undeclared reference to 'request'":                     {{Name: "our-rule", Expression: "request.name == 'a'"}},
		"undefined field 'tiket'":                               {{Name: "our-rule", Expression: "exception.tiket != ''"}},
		"undefined field 'rule'":                                {{Name: "our-rule", Expression: "exception.policies.all(p, p.rule != '')"}},
		"undeclared reference to 'sum'":                         {{Name: "our-rule", Expression: "[1].sum() == 1"}},
		"1:2: \"Syntax error: the expression ends too early\"":  {{Name: "our-rule", Expression: "!"}},
		"rule \"our-rule\" has no expression":                   {{Name: "our-rule", Expression: ""}},
		"10241 characters":                                      {{Name: "our-rule", Expression: strings.Repeat(" ", 10_237) + "true"}},
	} {
		if _, err := shape.New(shape.Config{Rules: rules}); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRuleMessages(t *testing.T) {
	for _, tc := range []struct {
		rule          shape.Rule
		message, hint string
	}{
		{shape.Rule{Name: "our-rule", Expression: "false", Message: "not on Fridays"}, "not on Fridays", ""},
		{shape.Rule{Name: "our-rule", Expression: "exception.ticket != ''"}, "the exception breaks the rule our-rule", "exception.ticket != ''"},
		{shape.Rule{Name: "our-rule", Expression: "object.spec.ticket != ''", Message: "not on Fridays"}, `cannot be evaluated on this exception: "no such key: ticket"`, "has("},
	} {
		found := change{of: legacy, config: shape.Config{Rules: []shape.Rule{tc.rule}}}.findings(t)
		if len(found) != 1 || !strings.Contains(found[0].Message, tc.message) || !strings.Contains(found[0].Hint, tc.hint) {
			t.Errorf("%s: %+v", tc.rule.Expression, found)
		}
	}
}
