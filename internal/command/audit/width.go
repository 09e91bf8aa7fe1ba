package audit

import (
	"io"

	"github.com/polex-dev/polex/internal/command/cli"
)

// The width of a table that is not written to a terminal, and the limits on a terminal.
const (
	usualWidth = 100
	leastWidth = 80
	mostWidth  = 200
)

// widthOf returns the width of a table and whether w is a terminal. Outside a terminal, lines are
// not broken, so that grep finds them.
func widthOf(w io.Writer) (width int, terminal bool) {
	if width := cli.TerminalWidth(w); width > 0 {
		return min(max(width, leastWidth), mostWidth), true
	}
	return usualWidth, false
}
