package plain

import (
	"fmt"
	"strings"
)

// Markdown makes untrusted text safe in Markdown. It replaces every character that can begin a
// link, a tag, a mention or a table cell.
func Markdown(text string) string {
	var b strings.Builder
	for _, r := range Line(text) {
		if strings.ContainsRune("\\`*_{}[]()<>#|&@~!$\"'", r) {
			fmt.Fprintf(&b, "&#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	// Markdown turns a plain URL into a link.
	return strings.ReplaceAll(b.String(), "://", "&#58;//")
}
