package cli

import (
	"os"

	"golang.org/x/term"
)

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
