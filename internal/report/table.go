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
		writeRows(&b, listed, v.Width)
		b.WriteString("\n? by Git or the file alone: nobody vouches for it. All days are UTC.\n")
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
	_, err := io.WriteString(w, b.String())
	return err
}

// headline returns the number of commits, the revision and the time of the report.
func headline(v *Report) string {
	if v.Commits == 0 {
		return fmt.Sprintf("%s has no commit at %s", v.Revision, clock(v.At))
	}
	line := fmt.Sprintf("%s of %s to %.12s", plain.Count(v.Commits, "commit", "commits"), v.Revision, v.Tip)
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
	width int
	share int
}{{10, 0}, {0, 50}, {0, 50}, {15, 0}, {10, 0}, {11, 0}}

func writeRows(b *strings.Builder, entries []*ledger.Entry, width int) {
	left := width - (len(columns) - 1)
	for _, c := range columns {
		left -= c.width
	}
	row := func(cells ...string) {
		var line strings.Builder
		for i, c := range columns {
			wide := c.width
			if c.share > 0 {
				wide = left * c.share / 100
			}
			if i > 0 {
				line.WriteByte(' ')
			}
			line.WriteString(fit(cells[i], wide))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	row("STATE", "EXCEPTION", "POLICY", "ASKED BY", "SIGNED", "UNTIL")
	for _, e := range entries {
		row(cells(e)...)
	}
}

func cells(e *ledger.Entry) []string {
	who, signed := askedBy(e)
	if name, _, ok := strings.Cut(who, " <"); ok {
		who = name
	}
	signedAt := ""
	if e.Seal != nil {
		signedAt = day(e.Seal.SignedAt)
	}
	return []string{string(e.State), approval(e), claimed(policyNames(e), e.Verified), claimed(who, signed), signedAt, claimed(day(e.ExpiresAt), e.Verified)}
}

// claimed marks an unverified value with a question mark.
func claimed(text string, verified bool) string {
	if text != "" && !verified {
		return "?" + text
	}
	return text
}

func policyNames(e *ledger.Entry) string {
	var names []string
	for _, p := range e.Policies {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// fit escapes a text and cuts or pads it to the width of a cell.
func fit(text string, width int) string {
	text = plain.Line(text)
	if n := utf8.RuneCountInString(text); n <= width {
		return text + strings.Repeat(" ", width-n)
	}
	return plain.Cut(text, width)
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
		fmt.Fprintf(b, "\n%s %7s %7s\n", fit("by "+sum.name, wide), "open", "ever")
		for _, c := range sum.counts[:min(len(sum.counts), maxSums)] {
			fmt.Fprintf(b, "%s %7d %7d\n", fit(named(c.Name), wide), c.Open, c.Ever)
		}
		if more := len(sum.counts) - maxSums; more > 0 {
			fmt.Fprintf(b, "and %d more\n", more)
		}
	}
	if len(v.Chains) > 0 {
		wide := v.Width - 10
		fmt.Fprintf(b, "\n%s %9s\n", fit("renewed most", wide), "renewals")
		for _, c := range v.Chains[:min(len(v.Chains), maxSums)] {
			fmt.Fprintf(b, "%s %9d\n", fit(renewedMost(c)+", "+lasts(c), wide), c.Renewals)
		}
		if more := len(v.Chains) - maxSums; more > 0 {
			fmt.Fprintf(b, "and %d more\n", more)
		}
	}
	if v.Totals.NotCounted > 0 {
		fmt.Fprintf(b, "\n%s not counted, since the seal does not hold\n", plain.Count(v.Totals.NotCounted, "exception is", "exceptions are"))
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
	line := fmt.Sprintf("median time from the request (by Git) to the signature: %s, of %d", lasting(v.Totals.Wait), v.Totals.Of)
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
		if e.State != ledger.Waiting && e.State != ledger.NotSigned || e.Request == nil || e.Request.At.IsZero() {
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
