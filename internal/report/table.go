package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
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
		v.writeEntries(b, groups(rowsOf(listed)))
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
	header := v.header()
	for _, path := range reportFields {
		line("", name(path)+": "+joined(lookUp(header, path)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeEntries writes the entries by exempted namespace.
func (v *Report) writeEntries(b *strings.Builder, all []group) {
	lines := [][]string{{" "}}
	for _, g := range all {
		lines = append(lines, []string{g.Where()})
		for range g.Members {
			lines = append(lines, []string{" "})
		}
	}
	for _, c := range columns {
		cells, filled, at := []string{c.head}, false, 0
		for _, g := range all {
			for _, m := range g.Members {
				cell := m.cell(c.path)
				cells, filled = append(cells, cell), filled || cell != ""
			}
		}
		if !filled || v.Width > 0 && c.wide {
			continue
		}
		for i := range lines {
			if lines[i][0] == " " {
				lines[i], at = append(lines[i], cells[at]), at+1
			}
		}
	}
	align(b, lines, v.Width)
}

// cell is the text in a column: of a time its day, and of an object its name.
func (m member) cell(path string) string {
	switch path {
	case "":
		return marked(joined(m.Exempts()), m.Verified)
	case "object":
		return approval(m.Entry)
	case "signing.signedAt", "expiresAt":
		text := m.Text(path)
		return marked(text[:min(len(text), len("2006-01-02"))], path != "expiresAt" || m.Verified)
	}
	return m.shown(path)
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
