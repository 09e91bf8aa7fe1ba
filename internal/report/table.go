package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/internal/plain"
)

// Table writes the exceptions, the findings and the totals for a terminal.
func Table(w io.Writer, v *Report) error {
	var b strings.Builder
	v.fold(&b, headline(v), 0)
	if line := stateCounts(v); line != "" {
		v.fold(&b, line, 0)
	}
	if listed := v.listed(); len(listed) > 0 {
		b.WriteString("\n")
		v.writeRows(&b, listed)
		b.WriteString("\n? marks values from Git or the file alone. All days are UTC.\n")
	}
	if len(v.Findings) > 0 {
		fmt.Fprintf(&b, "\n%s to look at\n", plain.Count(len(v.Findings), "finding", "findings"))
		for _, f := range v.Findings {
			b.WriteString("\n")
			of := about(f)
			if of != "" {
				of += ": "
			}
			v.fold(&b, of+f.Message+" ["+string(f.Kind)+"]", 2)
			if f.Hint != "" {
				v.fold(&b, "hint: "+f.Hint, 4)
			}
		}
	}
	writeSums(&b, v)
	b.WriteString("\n")
	for _, f := range reportFields {
		v.fold(&b, name(f.path)+": "+joined(f.values(v)), 0)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// headline returns the number of commits, the revision and the time of the report.
func headline(v *Report) string {
	if v.Commits == 0 {
		return fmt.Sprintf("%s has no commit at %s", v.Revision, clock(v.At))
	}
	line := fmt.Sprintf("%s of %s to %s", plain.Count(v.Commits, "commit", "commits"), v.Revision, v.Tip)
	if v.Merged > 0 {
		line += fmt.Sprintf(" (and %d merged)", v.Merged)
	}
	return line + ", as of " + clock(v.At)
}

// stateCounts returns the number of exceptions in each state.
func stateCounts(v *Report) string {
	states := v.States()
	var parts []string
	for _, state := range ledger.States() {
		if n := states[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(parts, ", ")
}

// about returns the object and the file of a finding, or "".
func about(f ledger.Finding) string {
	if f.Object != "" && f.File != "" {
		return f.Object + ", " + f.File
	}
	return f.Object + f.File
}

// columns are the columns of the table. Columns with a width of zero share the remaining width.
var columns = []struct {
	head, path string
	width      int
	wide       bool
}{
	{"EXEMPTED", "", 0, false},
	{"POLICY", "policies.name", 0, false},
	{"SEVERITY", "policies.severity", 0, true},
	{"EXCEPTION", "object", 0, false},
	{"STATE", "state", 12, false},
	{"REQUESTED BY", "said.requestedBy", 12, false},
	{"APPROVED BY", "said.approvedBy", 0, true},
	{"TICKET", "said.ticket", 0, true},
	{"OWNER", "said.owner", 0, true},
	{"LOG INDEX", "signing.signatures.logIndex", 0, true},
	{"SIGNED", "signing.signedAt", 0, true},
	{"EXPIRES", "expiresAt", 11, false},
}

// cell is what a column shows: of a time its day, and of an object its name.
func cell(path string, m member) string {
	switch path {
	case "":
		return claimed(joined(m.exempts()), m.Verified)
	case "object":
		return approval(m.Entry)
	case "signing.signedAt":
		return day(sealOf(m.Entry).SignedAt)
	case "expiresAt":
		return claimed(day(m.ExpiresAt), m.Verified)
	}
	return fieldAt(path).shown(m.Entry)
}

// widest is how far a column is padded where nothing is cut.
const widest = 60

// writeRows writes the entries by exempted namespace. Off a terminal, no cell is cut.
func (v *Report) writeRows(b *strings.Builder, entries []*ledger.Entry) {
	all := groups(entries)
	widths := make([]int, len(columns))
	left, sharing := v.Width-1, 0
	for i, c := range columns {
		switch widths[i] = c.width; {
		case c.wide && v.Terminal:
		case v.Terminal && c.width == 0:
			sharing++
			left--
		case v.Terminal:
			left -= c.width + 1
		default:
			widths[i] = utf8.RuneCountInString(c.head)
			for _, g := range all {
				for _, m := range g.Members {
					widths[i] = min(max(widths[i], utf8.RuneCountInString(plain.Line(cell(c.path, m)))), widest)
				}
			}
		}
	}
	row := func(text func(i int) string) {
		line := " "
		for i, c := range columns {
			if c.wide && v.Terminal {
				continue
			}
			if widths[i] == 0 {
				widths[i] = left / sharing
			}
			line += " " + v.fit(text(i), widths[i])
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	row(func(i int) string { return columns[i].head })
	for _, g := range all {
		v.fold(b, where(g.Namespace), 0)
		for _, m := range g.Members {
			row(func(i int) string { return cell(columns[i].path, m) })
		}
	}
}

// claimed marks an unverified value with a question mark.
func claimed(text string, verified bool) string {
	if text != "" && !verified {
		return "?" + text
	}
	return text
}

// fit makes a cell of a text: escaped, filled up, and cut on a terminal where it is too long.
func (v *Report) fit(text string, width int) string {
	text = plain.Line(text)
	if v.Terminal {
		text = plain.Cut(text, width)
	}
	return text + strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0))
}

// fold escapes a text and writes it. On a terminal it breaks lines at the width.
func (v *Report) fold(b *strings.Builder, text string, indent int) {
	text = plain.Line(text)
	line := strings.Repeat(" ", indent)
	if !v.Terminal {
		b.WriteString(line + text + "\n")
		return
	}
	empty := true
	for word := range strings.FieldsSeq(text) {
		if !empty && utf8.RuneCountInString(line)+utf8.RuneCountInString(word)+1 > v.Width {
			b.WriteString(line + "\n")
			line, empty = strings.Repeat(" ", indent+2), true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	b.WriteString(line + "\n")
}

// maxSums is the maximum number of lines of one total in the table.
const maxSums = 5

func writeSums(b *strings.Builder, v *Report) {
	if v.Totals.Of > 0 {
		b.WriteString("\n")
		v.fold(b, waited(v), 0)
	}
	if line := notSigned(v); line != "" {
		b.WriteString("\n")
		v.fold(b, line, 0)
	}
	for _, c := range v.Totals.Often {
		v.fold(b, often(c), 0)
	}
	for _, sum := range sums(v) {
		if len(sum.counts) == 0 {
			continue
		}
		wide := v.Width - 16
		fmt.Fprintf(b, "\n%s %7s %7s\n", v.fit("by "+sum.name, wide), "open", "ever")
		for _, c := range sum.counts[:min(len(sum.counts), maxSums)] {
			fmt.Fprintf(b, "%s %7d %7d\n", v.fit(named(c.Name), wide), c.Open, c.Ever)
		}
		if more := len(sum.counts) - maxSums; more > 0 {
			fmt.Fprintf(b, "and %d more\n", more)
		}
	}
	if len(v.Chains) > 0 {
		wide := v.Width - 10
		fmt.Fprintf(b, "\n%s %9s\n", v.fit("renewed most", wide), "renewals")
		for _, c := range v.Chains[:min(len(v.Chains), maxSums)] {
			fmt.Fprintf(b, "%s %9d\n", v.fit(renewedMost(c)+", "+lasts(c), wide), c.Renewals)
		}
		if more := len(v.Chains) - maxSums; more > 0 {
			fmt.Fprintf(b, "and %d more\n", more)
		}
	}
	if v.Totals.NotCounted > 0 {
		fmt.Fprintf(b, "\n%s not counted: the signature is invalid\n", plain.Count(v.Totals.NotCounted, "exception is", "exceptions are"))
	}
}

type sum struct {
	name   string
	counts []ledger.Count
}

func sums(v *Report) []sum {
	aged := slices.DeleteFunc(slices.Clone(v.Totals.Ages), func(c ledger.Count) bool { return c.Ever == 0 })
	return []sum{{"policy", v.Totals.Policies}, {"rule", v.Totals.Rules}, {"namespace", v.Totals.Namespaces}, {"owner", v.Totals.Owners}, {"age", aged}, {"policy, of renewals", v.Totals.Renewals}}
}

// named replaces an empty name.
func named(name string) string { return cmp.Or(name, "(none)") }

func waited(v *Report) string {
	line := fmt.Sprintf("median time from the request (by Git) to the signature: %s (exceptions: %d)", lasting(v.Totals.Wait), v.Totals.Of)
	if v.Totals.LeftOut > 0 {
		line += fmt.Sprintf("; %d left out, without a known time of the request", v.Totals.LeftOut)
	}
	return line
}

// notSigned returns the number and the oldest of the exceptions that are not signed yet, or "".
func notSigned(v *Report) string {
	var oldest *ledger.Entry
	count := 0
	for _, e := range v.Entries {
		if e.State != ledger.Waiting && e.State != ledger.NeverSigned || e.Request == nil || e.Request.At.IsZero() {
			continue
		}
		if count++; oldest == nil || e.Request.At.Before(oldest.Request.At) {
			oldest = e
		}
	}
	if oldest == nil {
		return ""
	}
	return fmt.Sprintf("%s not signed yet; the oldest is of %s (by Git): %s", plain.Count(count, "exception is", "exceptions are"), day(oldest.Request.At), oldest.Identity)
}

func lasting(d time.Duration) string {
	if d < time.Second {
		return "less than a second"
	}
	return lifetime.FormatDuration(d.Truncate(time.Second))
}

func often(c ledger.Count) string {
	return fmt.Sprintf("%s has %d open exceptions: does the policy need another look?", c.Name, c.Open)
}
