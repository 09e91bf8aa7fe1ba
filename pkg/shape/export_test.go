package shape

import "strings"

// Checks are the checks in docs/reference/reasons.md.
var Checks = checks

// MetadataRows returns the keys of toolKeys and directives, without the "*" of a prefix.
func MetadataRows() (tools, told []string) {
	for _, row := range toolKeys {
		tools = append(tools, strings.TrimSuffix(row[1], "*"))
	}
	for _, row := range directives {
		for value := range strings.SplitSeq(strings.NewReplacer("!false", "", "any", "").Replace(row[3]), ",") {
			told = append(told, row[2]+"="+value)
		}
	}
	return tools, told
}
