package shape_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
)

const goodCondition = "object.metadata.name == 'web' && object.metadata.namespace == 'team-a'"

var conditionCases = []change{
	{name: "none", of: policies, old: "\n  - name: web\n    expression: " + goodCondition, new: " []", want: []string{"10 matches-everything spec.matchConditions", "10 reaches-guard spec.matchConditions"}},
	{name: "absent", of: policies, old: "  matchConditions:\n  - name: web\n    expression: " + goodCondition + "\n", new: "", want: []string{"6 matches-everything spec.matchConditions", "6 reaches-guard spec.matchConditions"}},
	{name: "images do not narrow it", of: policies, old: "\n  - name: web\n    expression: " + goodCondition, new: " []\n  images: [a]", want: []string{"10 matches-everything spec.matchConditions"}},
	{name: "a constant beside a real one", of: policies, old: goodCondition, new: goodCondition + "\n  - name: b\n    expression: 'true'",
		want: []string{"14 matches-everything spec.matchConditions[1].expression", "14 reaches-guard spec.matchConditions[1].expression"}},
	{name: "a block of comments", of: policies, old: goodCondition, new: "|\n      // object.metadata.name == 'web'\n      true",
		want: []string{"12 matches-everything spec.matchConditions[0].expression", alsoReaches}},
}

// alsoReaches is the finding for a condition that does not restrict the kind, the namespace or the
// name by literals. Other findings can come with it.
const alsoReaches = "12 reaches-guard spec.matchConditions[0].expression"

// notPlain are the findings for a single condition in an unknown form.
var notPlain = []string{alsoReaches, "12 not-proven-narrow spec.matchConditions[0].expression (warning)"}

// labelsAlone are the findings for a single condition that only compares labels.
var labelsAlone = []string{"12 missing-kinds spec.matchConditions[0].expression", alsoReaches}

func init() {
	for _, expression := range []string{
		"true", " true ", "(true)", "((true))", "1 == 1", "1==1", `"a" == "a"`, `"a" == 'a'`, "!false", "!!true", "!(1 != 1)",
		"true || object.x", "object.x || true", "true && 1 == 1", "(object.x) || (true)", "object.kind == object.kind",
		`"a\"b" == "a\"b"`, "true // 'x'\n", "object.metadata.name == 'a' || 1 == 1",
		"!(1 > 2)", "object.x ? true : true", "false", "!true", "1 != 1", "'a' == 'b'", "[1, 2].all(i, i > 0)", "'web' in ['web']", "'web'.startsWith('w')", "size('a') == 1",
		"'a'.find('a') == 'a'.find('a')",
	} {
		conditionCases = append(conditionCases, change{name: "constant " + expression, of: policies, old: goodCondition, new: quote(expression),
			want: []string{"12 matches-everything spec.matchConditions[0].expression", alsoReaches}})
	}
	for _, expression := range []string{
		"object.metadata.name == 'true'", "true && object.x", "object == object", "'''a''' == 'a'", "object.x <= object.x", "!(object.x < object.x)", "!object.x || object.x", "object.x == 'a' || object.x == 'b'",
		"object.x == 'a||true'", "(object.x) == (object.y)", "object.x != object.y", "true == object.x",
		"object.items.all(i, i == 1 || true)", "", "object.spec == '// true'", "object.x in [object.y]",
		"object.x == 'a' || !(object.y == 'a')",
	} {
		want := notPlain
		switch expression {
		case "object.metadata.name == 'true'":
			want = nil
		case "":
			want = []string{"12 empty-value spec.matchConditions[0].expression", alsoReaches}
		}
		conditionCases = append(conditionCases, change{name: "not constant " + expression, of: policies, old: goodCondition, new: quote(expression), want: want})
	}
}

var badExpressionCases = []change{
	{name: "a name used twice", of: policies, old: goodCondition, new: goodCondition + "\n  - name: web\n    expression: " + goodCondition,
		want: []string{"13 bad-expression spec.matchConditions[1].name"}},
	{name: "no name", of: policies, old: "- name: web\n    expression", new: "- expression", want: []string{"11 missing-field spec.matchConditions[0].name"}},
	{name: "an empty name", of: policies, old: "- name: web\n", new: "- name: ''\n", want: []string{"11 empty-value spec.matchConditions[0].name"}},
	{name: "a sentence for a name", of: policies, old: "- name: web\n", new: "- name: only the web\n", want: []string{"11 bad-expression spec.matchConditions[0].name"}},
	{name: "a qualified name", of: policies, old: "- name: web\n", new: "- name: example.com/only_the.web\n"},
	{name: "64 conditions", of: policies, old: "  - name: web\n    expression: " + goodCondition, new: manyConditions(64)},
	{name: "65 conditions", of: policies, old: "  - name: web\n    expression: " + goodCondition, new: manyConditions(65), want: []string{"10 bad-expression spec.matchConditions", "10 reaches-guard spec.matchConditions"}},
	{name: "a text as long as allowed", of: policies, old: goodCondition, new: quote(goodCondition + strings.Repeat(" ", 10_240-len(goodCondition)))},
	{name: "a text that is too long", of: policies, old: goodCondition, new: quote(goodCondition + strings.Repeat(" ", 10_241-len(goodCondition))),
		want: []string{"12 bad-expression spec.matchConditions[0].expression", alsoReaches}},
	{name: "a comment at the end", of: policies, old: goodCondition, new: quote(goodCondition + " //"), want: []string{"12 bad-expression spec.matchConditions[0].expression"}},
	{name: "a comment at the end, behind a carriage return", of: policies, old: goodCondition, new: quote(goodCondition + "// a\r"), want: []string{"12 bad-expression spec.matchConditions[0].expression"}},
	{name: "a comment at the end of a text as long as allowed", of: policies, old: goodCondition, new: quote(goodCondition + "//" + strings.Repeat(" ", 10_238-len(goodCondition))),
		want: []string{"12 bad-expression spec.matchConditions[0].expression"}},
	{name: "a comment at the end of what is always true", of: policies, old: goodCondition, new: quote("true // 'x'"),
		want: []string{"12 bad-expression spec.matchConditions[0].expression", "12 matches-everything spec.matchConditions[0].expression", alsoReaches}},
	{name: "a comment above", of: policies, old: goodCondition, new: quote("// the web\n" + goodCondition)},
	{name: "a comment at the end, with a line break", of: policies, old: goodCondition, new: quote(goodCondition + " // the web\n")},
	{name: "two slashes in a text", of: policies, old: goodCondition, new: quote(goodCondition + " && object.spec.url == 'https://a'")},
	{name: "no text", of: policies, old: goodCondition, new: "7", want: []string{"12 wrong-type spec.matchConditions[0].expression"}},
	{name: "one of two", of: policies, old: goodCondition, new: goodCondition + "\n  - name: b\n    expression: object.x +", want: []string{"14 bad-expression spec.matchConditions[1].expression", "14 reaches-guard spec.matchConditions[1].expression"}},
}

func manyConditions(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  - name: web%d\n    expression: %s\n", i, goodCondition)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func init() {
	for _, expression := range []string{
		"'", "((", "))", "  ", "a == b == c", "object.", "object.metadata.name", "1", "'true'", "object.x +", "true true", "# true", "object.x = 'a'",
		"object.metadata.name.endsWithTYPO('pod')", "totally.unbound.variable == 'x'", "request.colour == 'red'", "request.kind.colour == 'red'",
		"request.name == 1", "'a' == 1", "[1, 'a'] == []", "'a'.matches('(')", "duration('soon') == duration('1s')", "timestamp('soon') == timestamp('sooner')",
		"namespaceObject.name == 'a'", "namespaceObject.metadata.labels.x == 1",
		// Functions of Kyverno's policies that its exceptions do not have.
		"variables.x == 'a'", "images.containers.size() == 1", "resource.Get('v1', 'pods', 'a', 'b').x == 1", "http.Get('http://a').x == 1", "image('a').registry() == 'a'",
		"authorizer.path('/').check('get').allowed()", "params.x == 1", "cel.bind(x, 'a', x == object.x)", "math.greatest(1, 2) == 2", "base64.encode(b'a') == object.x",
		// Deep ones.
		strings.Repeat("(", 1000) + "true" + strings.Repeat(")", 1000), strings.Repeat("!", 1000) + "object.x", strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + " == object.x",
		"object" + strings.Repeat(".x", 1000) + " == 1", "object.x == 1" + strings.Repeat("+1", 2000), "object.x" + strings.Repeat(" ? true : false", 500),
	} {
		badExpressionCases = append(badExpressionCases, change{name: "bad " + expression, of: policies, old: goodCondition, new: quote(expression),
			want: []string{"12 bad-expression spec.matchConditions[0].expression", alsoReaches}})
	}
	for _, expression := range []string{
		"oldObject.metadata.name == 'old'",
		"request.userInfo.username == 'a'", "'a' in request.userInfo.groups", "request.userInfo.extra['a'][0] == 'b'", "request.options.x == 1", "request.dryRun && object.x == 'a'",
		"object.?metadata.name.orValue('') == 'web'",
		"object.metadata.name.find('[0-9]+') == '42'", "object.metadata.name.findAll('a', 1) == ['b']", "object.spec.ports.map(p, int(p)).max() == 1", "object.spec.x.sum() == 7",
		"url(object.spec.url).getHost() == 'example.com'", "isURL(object.spec.url) && object.x == 'a'", "quantity(object.spec.cpu).isLessThan(quantity('1'))", "sign(quantity(object.x)) == 0",
		"ip(object.spec.ip).family() == 4", "cidr('10.0.0.0/8').containsIP(object.spec.ip)", "string(cidr('10.0.0.0/8').masked()) == object.x", "ip.isCanonical(object.spec.ip)",
		"format.dns1123Label().validate(object.x).hasValue()", "format.named('uuid').value().validate(object.x).hasValue()", "semver(object.x).isLessThan(semver('v1.2', true))",
		"sets.contains(object.spec.x, ['a'])", "object.spec.x.all(k, v, k == v) && object.x == 'a'", "lists.range(3) == object.x", "object.x.transformMap(k, v, v) == {}",
		"object.x.lowerAscii() == 'a'", "strings.quote(object.x) == 'a'", "object.x.split(',')[0] == 'a'", "object.x.sortBy(e, e.y)[0] == 1", "isSemver(object.x) && object.y == 'a'",
		"object.x == 1.0 && 1 < 1.5", "timestamp(object.x) < timestamp('2026-01-01T00:00:00Z')", "duration(object.x) < duration('1h')", "type(object.x) == string && object.x == 'a'",
	} {
		badExpressionCases = append(badExpressionCases, change{name: "good " + expression, of: policies, old: goodCondition, new: quote(expression), want: notPlain})
	}
	for _, expression := range []string{"namespaceObject.metadata.labels.team == 'a'", "object.metadata.?labels.team.hasValue() && object.metadata.labels.team == 'a'"} {
		badExpressionCases = append(badExpressionCases, change{name: "good " + expression, of: policies, old: goodCondition, new: quote(expression), want: labelsAlone})
	}
	for _, expression := range []string{
		"request.object.metadata.name == 'pod'", "namespaceObject != null && namespaceObject.metadata.name == 'a'", "object.metadata.name in [" + strings.Repeat("'a-plain-name', ", 500) + "'b']",
	} {
		badExpressionCases = append(badExpressionCases, change{name: "good " + expression, of: policies, old: goodCondition, new: quote(expression)})
	}
}

func TestBadExpressionMessages(t *testing.T) {
	for _, tc := range []struct{ expression, message, hint string }{
		{"object.x == 'a' &&\n  colour == 'red'", `2:3: "undeclared reference to 'colour'"`, "oldObject, request, namespaceObject"},
		{"object.metadata.name", "of type dyn, and a bool is needed", "true for the exempted resources"},
		{"(object.x == 'a'", "1:17: \"Syntax error: missing ')' at its end\"", "true for the exempted resources"},
		{"object.kind == 'Pod' and object.x == 'a'", "mismatched input 'and' after a whole expression", "write && and ||"},
		{"object.kind = 'Pod'", "token recognition error at: '= '", "compare with =="},
		{"object.kind == Pod", "undeclared reference to 'Pod'", "put a text in quotes: 'Pod'"},
		{"objct.kind == 'Pod'", "undeclared reference to 'objct'", `did you mean "object"?`},
		{"object.x +", `1:11: "Syntax error: the expression ends too early`, "true for the exempted resources"},
		{"\"\u202e\u200b\" == colour", `"undeclared reference to 'colour'"`, ""},
		{"'\x1b[31m", `token recognition error at: ''\x1b[31m'`, ""},
		{"colour || taste || smell || sound || touch", "and 2 more", ""},
		{goodCondition + " // the web", "the condition ends in a comment", "a line above"},
		{strings.Repeat("x", 10_241), "10241 characters, and 10240 are allowed", ""},
	} {
		found := exceptReaches(change{of: policies, old: goodCondition, new: quote(tc.expression)}.findings(t))
		if len(found) == 0 {
			t.Errorf("%q is accepted", tc.expression)
			continue
		}
		for _, f := range found {
			if f.Reason == "bad-expression" && (!strings.Contains(f.Message, tc.message) || !strings.Contains(f.Hint, tc.hint)) {
				t.Errorf("%q: %s (%s)", tc.expression, f.Message, f.Hint)
			}
		}
	}
}

// widthCases are match conditions with their findings. internal/kyverno tests the recognised forms.
var widthCases = []struct{ conditions, reason, path string }{
	{"object.metadata.name == 'web'", "", ""},
	{"object.kind == 'Pod'; object.metadata.labels.app == 'web'", "", ""},
	{"object.metadata.name in ['" + strings.ReplaceAll(manyNames(840), ", ", "', '") + "']", "", ""},
	{"object.kind == 'Pod'", "matches-everything", "spec.matchConditions[0].expression"},
	{"object.metadata.name != 'web'", "matches-everything", "spec.matchConditions[0].expression"},
	{"object.kind == 'Pod'; request.operation == 'CREATE'", "matches-everything", "spec.matchConditions"},
	{"object.metadata.name == 'web'; 1 < 2", "matches-everything", "spec.matchConditions[1].expression"},
	{"object.kind == 'Pod' && has(object.spec.hostNetwork) && object.spec.hostNetwork", "not-proven-narrow", "spec.matchConditions[0].expression"},
	{"object.kind == 'Pod'; object.metadata.name.find('^web') != ''", "not-proven-narrow", "spec.matchConditions"},
}

// exceptReaches removes the findings [shape.ReasonReachesGuard], which most conditions in other
// forms have. internal/kyverno tests them.
func exceptReaches(found []shape.Finding) []shape.Finding {
	return slices.DeleteFunc(found, func(f shape.Finding) bool { return f.Reason == shape.ReasonReachesGuard })
}

func TestWidths(t *testing.T) {
	for _, tc := range widthCases {
		conditions := strings.Split(tc.conditions, "; ")
		for i := range conditions {
			conditions[i] = quote(conditions[i])
		}
		text := strings.Join(conditions, "\n  - name: b\n    expression: ")
		for preset, severity := range map[string]shape.Severity{"baseline": shape.Warning, "strict": shape.Error} {
			config := shape.Config{Preset: preset, Require: []string{}}
			found := exceptReaches(change{of: policies, config: config, old: goodCondition, new: text}.findings(t))
			if tc.reason == "matches-everything" {
				severity = shape.Error
			}
			if tc.reason == "" && len(found) > 0 || tc.reason != "" && (len(found) != 1 || found[0].Reason != tc.reason || found[0].Path.String() != tc.path || found[0].Severity != severity) {
				t.Errorf("%s, %s: %+v", preset, tc.conditions, found)
			}
		}
	}
}

func manyNames(n int) string {
	var names []string
	for i := range n {
		names = append(names, "rule-"+strconv.Itoa(i))
	}
	return strings.Join(names, ", ")
}

// TestLoopsInLoops: nested loops are valid conditions.
func TestLoopsInLoops(t *testing.T) {
	const deep = 24
	expression := strings.Repeat("[1].exists(a, ", deep) + "request.object.metadata.name == 'web'" + strings.Repeat(")", deep)
	if found := exceptReaches((change{of: policies, config: withoutWidth, old: goodCondition, new: quote(expression)}).findings(t)); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}
