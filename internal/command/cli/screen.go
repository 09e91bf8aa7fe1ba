package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// screen is standard output, which may be a terminal. Files of --report are not.
type screen struct {
	io.Writer
	terminal bool
	width    int // of the terminal in characters
}

// The styles of text on a terminal, by ECMA-48 (SGR).
const (
	bold, red, yellow, green, cyan = "1", "1;31", "1;33", "32", "36"
)

// painter returns a function that paints text for a writer: with colors on a terminal, and unchanged elsewhere or
// with NO_COLOR (no-color.org).
func painter(w io.Writer) func(style, text string) string {
	s, ok := w.(screen)
	colored := ok && s.terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return func(style, text string) string {
		if !colored || text == "" {
			return text
		}
		return "\x1b[" + style + "m" + text + "\x1b[0m"
	}
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && f != nil && term.IsTerminal(int(f.Fd())) //nolint:gosec // a descriptor fits
}

// TerminalWidth returns the width of a terminal in characters, or 0 if a stream is not a terminal.
func TerminalWidth(stream any) int {
	if s, ok := stream.(screen); ok {
		return s.width
	}
	if !IsTerminal(stream) {
		return 0
	}
	width, _, err := term.GetSize(int(stream.(*os.File).Fd())) //nolint:gosec // a descriptor fits
	if err != nil {
		return 0
	}
	return width
}
