package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/polex-dev/polex/internal/plain"
)

// screen is standard output, which may be a terminal. Files of --report are not.
type screen struct {
	io.Writer
	terminal bool
}

// color is the value of --color: auto, always or never.
type color string

// String returns the value.
func (c *color) String() string { return string(*c) }

// Type names the value in help texts.
func (c *color) Type() string { return "string" }

// Set takes the value.
func (c *color) Set(value string) error {
	switch value {
	case "auto", "always", "never":
		*c = color(value)
		return nil
	}
	return fmt.Errorf("%q is not auto, always or never", value)
}

// The styles of text on a terminal, by ECMA-48 (SGR).
const (
	bold, red, yellow, cyan = "1", "1;31", "1;33", "36"
)

// look is how text is shown on a writer.
type look struct{ colored, lines bool }

// look returns plain text for files and pipes. NO_COLOR (no-color.org) removes colors only.
func (c color) look(w io.Writer) look {
	s, ok := w.(screen)
	switch {
	case !ok:
		return look{}
	case c == "always":
		return look{colored: true, lines: true}
	}
	return look{colored: c == "auto" && s.terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", lines: s.terminal}
}

func (l look) paint(style, text string) string {
	if !l.colored || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// The longest line that is shown, and the most of a file that is read for it, in bytes.
const (
	maxShownLine = 160
	maxShownFile = 8 << 20
)

// source returns the line of a result with a marker below its column, or "" if the document
// is not a file that this run has read.
func (l look) source(r *Report, res Result) string {
	if !l.lines || res.Line == 0 || !r.read[res.File] {
		return ""
	}
	f, err := os.Open(res.File)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(io.LimitReader(f, maxShownFile))
	lines.Buffer(nil, maxShownFile)
	for n := 1; lines.Scan(); n++ {
		if n < res.Line {
			continue
		}
		text := lines.Text()
		if res.Column > len(text)+1 || res.Column > maxShownLine {
			return ""
		}
		if len(text) > maxShownLine {
			text = strings.ToValidUTF8(text[:maxShownLine], "") + "…"
		}
		number := fmt.Sprintf("%5d", n)
		before := plain.Line(text[:max(res.Column, 1)-1])
		return fmt.Sprintf("%s %s\n%s %s\n", l.paint(cyan, number+" |"), plain.Line(text),
			l.paint(cyan, "      |"), strings.Repeat(" ", utf8.RuneCountInString(before))+l.paint(red, "^"))
	}
	return ""
}
