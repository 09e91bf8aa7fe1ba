package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/polex-dev/polex/internal/plain"
)

// columns are the columns of the table: the head and the field. A terminal shows those that are not
// wide, and cuts the first two last. A column without a value is left out.
var columns = []struct {
	head, path string
	wide       bool
}{
	{"EXCEPTION", "object", false}, {"POLICY", "policies.name", false}, {"SEVERITY", "policies.severity", true},
	{"REASON", "said.reason", false}, {"EXEMPTED", "", false}, {"STATE", "state", false},
	{"USAGE", "usage.state", false},
	{"REQUESTED BY", "said.requestedBy", true}, {"APPROVED BY", "said.approvedBy", true},
	{"TICKET", "said.ticket", true}, {"OWNER", "said.owner", true}, {"LOG INDEX", "signing.signatures.logIndex", true},
	{"SIGNED", "signing.signedAt", true}, {"EXPIRES", "expiresAt", false},
}

// Table writes the exceptions, the findings and the totals as text.
func Table(w io.Writer, v *Report) error {
	b := &strings.Builder{}
	line := func(indent, text string) { b.WriteString(indent + plain.Line(text) + "\n") }
	line("", headline(v))
	if counts := stateCounts(v); counts != "" {
		line("", counts)
	}
	if listed := v.listed(); len(listed) > 0 {
		b.WriteString("\n")
		v.writeEntries(b, groups(listed))
		b.WriteString("\n? marks values from Git or the file alone. All days are UTC.\n")
	}
	if len(v.Findings) > 0 {
		fmt.Fprintf(b, "\n%s to look at\n", plain.Count(len(v.Findings), "finding", "findings"))
	}
	for _, f := range v.Findings {
		text := f.Message + " [" + string(f.Kind) + "]"
		if of := about(f); of != "" {
			text = of + ": " + text
		}
		b.WriteString("\n")
		line("  ", text)
		if f.Hint != "" {
			line("    ", "hint: "+f.Hint)
		}
	}
	for _, note := range notes(v) {
		b.WriteString("\n")
		line("", note)
	}
	for _, s := range sums(v) {
		b.WriteString("\n")
		align(b, append([][]string{s.Heads}, s.Lines...), 0)
		if s.More > 0 {
			fmt.Fprintf(b, "and %d more\n", s.More)
		}
	}
	b.WriteString("\n")
	for _, f := range v.facts() {
		line("", f.Label+": "+joined(f.Values))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeEntries writes the entries by exempted namespace.
func (v *Report) writeEntries(b *strings.Builder, all []group) {
	heads := []string{" "} // below a namespace
	for _, c := range columns {
		heads = append(heads, c.head)
	}
	lines := [][]string{heads}
	filled := map[int]bool{}
	for _, g := range all {
		lines = append(lines, []string{g.Where()})
		for _, m := range g.Members {
			cells := m.cells()
			for i, cell := range cells {
				filled[i] = filled[i] || cell != ""
			}
			lines = append(lines, cells)
		}
	}
	for i := len(columns) - 1; i >= 0; i-- {
		for n, cells := range lines {
			if len(cells) > 1 && (!filled[i+1] || v.Width > 0 && columns[i].wide) {
				lines[n] = slices.Delete(cells, i+1, i+2)
			}
		}
	}
	align(b, lines, v.Width)
}

// cells are the texts in the columns: of a time its day, and of an object its name.
func (m member) cells() []string {
	cells := []string{" "}
	r := rowOf(m.Entry)
	for _, c := range columns {
		switch c.path {
		case "":
			cells = append(cells, marked(joined(m.Exempts()), m.Verified))
		case "object":
			cells = append(cells, approval(m.Entry))
		case "signing.signedAt", "expiresAt":
			text := r.Text(c.path)
			cells = append(cells, marked(text[:min(len(text), len(time.DateOnly))], !r.unverified(c.path)))
		default:
			cells = append(cells, r.shown(c.path))
		}
	}
	return cells
}

// widest is the maximum number of characters to which a cell is filled up.
const widest = 60

// The columns that tell which entry a line is about, and the width to which the others are cut first.
const (
	firstKept, lastKept = 1, 2
	narrow              = 9
)

// align writes lines in columns, and a line of one cell as it is. If width is not 0, it cuts the
// cells of the widest columns until a line fits.
func align(b *strings.Builder, lines [][]string, width int) {
	widths := make([]int, len(lines[0]))
	total := 0
	for _, cells := range lines {
		for i := range cells {
			cells[i] = plain.Line(cells[i])
			if more := min(utf8.RuneCountInString(cells[i]), widest) - widths[i]; more > 0 && len(cells) > 1 {
				widths[i], total = widths[i]+more, total+more
			}
		}
	}
	for total += len(widths); width > 0 && total > width && slices.Max(widths) > 1; total-- {
		cut := slices.Clone(widths)
		for i := firstKept; i <= lastKept && i < len(cut); i++ {
			cut[i] = 0
		}
		if slices.Max(cut) <= narrow {
			cut = widths
		}
		widths[slices.Index(cut, slices.Max(cut))]--
	}
	for _, cells := range lines {
		line := ""
		for i, cell := range cells {
			if width > 0 && len(cells) > 1 {
				cell = plain.Cut(cell, widths[i])
			}
			line += cell + strings.Repeat(" ", max(widths[i]-utf8.RuneCountInString(cell), 0)+1)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
