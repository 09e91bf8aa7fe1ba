package plain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes untrusted text safe to print on one line of a terminal or a CI log. Control, format
// and other unprintable characters become \u escapes. Line also breaks the two prefixes of runner
// commands ("::" and "##["), so the runner never executes text of a document.
func Line(text string) string {
	var b strings.Builder
	for i, w := 0, 0; i < len(text); i += w {
		var r rune
		r, w = utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && w == 1:
			b.WriteString(`\x`)
			b.WriteByte("0123456789abcdef"[text[i]>>4])
			b.WriteByte("0123456789abcdef"[text[i]&15])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ':' && strings.HasSuffix(text[:i], ":"):
			b.WriteString(`\x3a`)
		case r == '#' && strings.HasPrefix(text[i:], "##["):
			b.WriteString(`\x23`)
		case !unicode.IsPrint(r):
			writeEscape(&b, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func writeEscape(b *strings.Builder, r rune) {
	const hex = "0123456789abcdef"
	digits := 4
	b.WriteByte('\\')
	if r > 0xffff {
		digits = 8
		b.WriteByte('U')
	} else {
		b.WriteByte('u')
	}
	for d := digits - 1; d >= 0; d-- {
		b.WriteByte(hex[(r>>(4*d))&15])
	}
}
