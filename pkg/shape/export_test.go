package shape

import "strings"

// Checks are the checks in docs/reference/reasons.md.
var Checks = checks

// MetadataRows returns the keys of toolKeys and directives, without the "*" of a prefix.
func MetadataRows() (tools, told []string) {
	for _, row := range toolKeys {
		tools = append(tools, strings.TrimSuffix(row.key, "*"))
	}
	for _, row := range directives {
		if row.values == nil {
			told = append(told, row.key+"=")
		}
		for _, value := range row.values {
			told = append(told, row.key+"="+value)
		}
	}
	return tools, told
}
