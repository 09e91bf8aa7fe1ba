package plain

import (
	"fmt"
	"regexp"
	"strings"
)

// web matches the beginning of an address that GitHub Flavored Markdown makes a link (6.9).
var web = regexp.MustCompile(`(?i)(://|www\.)`)

// Markdown makes untrusted text safe in Markdown. It replaces every character that can begin a
// link, a tag, a mention or a table cell.
func Markdown(text string) string {
	var b strings.Builder
	for _, r := range Line(text) {
		switch {
		case r == '@' || r == '#':
			// Mentions, mail addresses and references such as #1 are searched in the text of the finished
			// page, where an entity is its character. A comment separates the text.
			fmt.Fprintf(&b, "&#%d;<!-- -->", r)
		case strings.ContainsRune("\\`*_{}[]()<>|&~!$\"'", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return web.ReplaceAllStringFunc(b.String(), func(begin string) string {
		return strings.NewReplacer(":", "&#58;", ".", "&#46;").Replace(begin)
	})
}
