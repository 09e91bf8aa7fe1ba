package plain

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
)

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
