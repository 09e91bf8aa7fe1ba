package audit

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/polex-dev/polex/internal/command/cli"
)

const barWidth = 30

// bar shows the progress on a terminal, and nothing elsewhere.
type bar struct {
	to   io.Writer
	last string
}

func newBar(w io.Writer) *bar {
	if cli.IsTerminal(w) {
		return &bar{to: w}
	}
	return &bar{}
}

// tell draws the bar if it has changed.
func (b *bar) tell(doing string, done, total int) {
	if b.to == nil {
		return
	}
	line := fmt.Sprintf("%s: %d", doing, done)
	if total > 0 {
		full := barWidth * min(done, total) / total
		line = fmt.Sprintf("%-24s [%s%s] %d of %d", doing, strings.Repeat("#", full), strings.Repeat(" ", barWidth-full), done, total)
	}
	if line != b.last {
		_, _ = fmt.Fprintf(b.to, "\r\x1b[K%s", line)
		b.last = line
	}
}

// clear removes the bar.
func (b *bar) clear() {
	if b.last != "" {
		_, _ = fmt.Fprint(b.to, "\r\x1b[K")
	}
}

// The width of a table that is not written to a terminal, and the limits on a terminal.
const (
	usualWidth = 100
	leastWidth = 80
	mostWidth  = 200
)

// widthOf returns the width of a table and whether w is a terminal. Outside a terminal, lines are
// not broken, so that grep finds them.
func widthOf(w io.Writer) (width int, terminal bool) {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil { //nolint:gosec // a descriptor fits
			return min(max(width, leastWidth), mostWidth), true
		}
	}
	return usualWidth, false
}
