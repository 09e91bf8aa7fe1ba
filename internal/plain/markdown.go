package plain

import (
	"fmt"
	"strings"
)

// Markdown makes hostile text plain in Markdown: every character that could
// begin a link, a tag, a mention or a cell becomes a character reference.
func Markdown(text string) string {
	var b strings.Builder
	for _, r := range Line(text) {
		if strings.ContainsRune("\\`*_{}[]()<>#|&@~!$\"'", r) {
			fmt.Fprintf(&b, "&#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	// A bare address would become a link.
	return strings.ReplaceAll(b.String(), "://", "&#58;//")
}
