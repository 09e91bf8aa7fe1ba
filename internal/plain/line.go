package plain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
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

// WriteJSON writes indented JSON that is safe on a terminal and in a CI log. It writes every character
// that is not printable, such as a control or a bidirectional override, as a \u escape, so the value
// stays the same.
func WriteJSON(w io.Writer, value any) error {
	var encoded bytes.Buffer
	enc := json.NewEncoder(&encoded)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return err
	}
	var b strings.Builder
	for _, r := range strings.ReplaceAll(encoded.String(), "##[", `#\u0023[`) { // ## occurs only in strings
		switch high, low := utf16.EncodeRune(r); {
		case r == '\n' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			writeEscape(&b, high)
			writeEscape(&b, low)
		default:
			writeEscape(&b, r)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

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

// Time writes a time in UTC and whole seconds (RFC 3339), and no time as "".
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Count returns a number with its noun: "1 commit", "2 commits".
func Count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Cut shortens a text to most characters. A shortened text ends in "…".
func Cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:max(most-1, 0)]) + "…"
}
