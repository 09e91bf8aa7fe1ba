package shape_test

import (
	"fmt"
	"strings"
)

var conditionNameCases = []change{
	{name: "prefixed", of: policies, old: "- name: web\n", new: "- name: example.com/web\n"},
	{name: "with a space", of: policies, old: "- name: web\n", new: "- name: only web\n", want: []string{"11 bad-condition spec.matchConditions[0].name"}},
	{name: "twice", of: policies, old: "  matchConditions:\n", new: "  matchConditions:\n  - {name: web, expression: has(object.metadata.labels)}\n",
		want: []string{"12 bad-condition spec.matchConditions[1].name"}},
	{name: "64 are enough", of: policies, old: "  matchConditions:\n", new: "  matchConditions:\n" + manyConditions(63)},
	{name: "65 are too many", of: policies, old: "  matchConditions:\n", new: "  matchConditions:\n" + manyConditions(64), want: []string{"10 bad-condition spec.matchConditions"}},
}

func manyConditions(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "  - {name: c%d, expression: object.metadata.name != 'x%d'}\n", i, i)
	}
	return all.String()
}
