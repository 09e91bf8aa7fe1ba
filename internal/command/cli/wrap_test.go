package cli

import (
	"fmt"
	"io"
	"testing"

	"github.com/polex-dev/polex/test/expect"
)

func TestWrapped(t *testing.T) {
	for _, tc := range []struct {
		text          string
		indent, width int
		want          string
	}{
		{"one two three", 2, 0, "one two three"},
		{"one two three", 2, 9, "one two\n  three"},
		{"one two three", 2, 10, "one two\n  three"},
		{"one two three", 0, 3, "one\ntwo\nthree"},
		{"longer-than-the-line two", 1, 8, "longer-than-the-line\n two"},
		{"äöü äöü", 0, 7, "äöü äöü"},
	} {
		expect.Is(t, fmt.Sprintf("%q in %d", tc.text, tc.width), tc.want, wrapped(tc.text, tc.indent, tc.width))
	}
}

// WriteToTerminal writes a report as text for a terminal.
func WriteToTerminal(w io.Writer, report *Report) error {
	return writeText(screen{Writer: w, terminal: true}, report)
}
