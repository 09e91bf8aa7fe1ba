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

// bar shows on a terminal how far it is, and nothing anywhere else.
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

// tell draws the bar again where it has changed.
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

// clear takes the bar away.
func (b *bar) clear() {
	if b.last != "" {
		_, _ = fmt.Fprint(b.to, "\r\x1b[K")
	}
}

// Width of a table where it is not written to a terminal, and the bounds where it
// is.
const (
	usualWidth = 100
	leastWidth = 80
	mostWidth  = 200
)

// widthOf returns how wide a table is, and whether a person looks at a terminal:
// elsewhere a line is not broken, so that it can be searched for.
func widthOf(w io.Writer) (width int, terminal bool) {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil { //nolint:gosec // a descriptor fits
			return min(max(width, leastWidth), mostWidth), true
		}
	}
	return usualWidth, false
}
