package shape_test

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
		`"a\"b" == "a\"b"`, "true // 'x'\n", "object.name == 'a' || 1 == 1",
		"!(1 > 2)", "object.x ? true : true", "false", "!true", "1 != 1", "'a' == 'b'", "[1, 2].all(i, i > 0)", "'web' in ['web']", "'web'.startsWith('w')", "size('a') == 1",
		"'a'.find('a') == 'a'.find('a')",
	} {
		conditionCases = append(conditionCases, change{name: "constant " + expression, of: policies, old: goodCondition, new: quote(expression),
			want: []string{"12 matches-everything spec.matchConditions[0].expression", alsoReaches}})
	}
	for _, expression := range []string{
		"object.metadata.name == 'true'", "true && object.x", "object == object", "'''a''' == 'a'", "object.x <= object.x", "!(object.x < object.x)", "!object.x || object.x", "object.x == 'a' || object.x == 'b'",
		"object.x == 'a||true'", "(object.x) == (object.y)", "object.x != object.y", "true == object.x",
		"object.items.all(i, i == 1 || true)", "", "object.name == '// true'", "object.x in [object.y]",
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
