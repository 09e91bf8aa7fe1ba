package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/pkg/lifetime"
)

// headline returns the number of commits, the revision and the time of the report.
func headline(v *Report) string {
	if v.Commits == 0 {
		return fmt.Sprintf("%s has no commit at %s", v.Revision, plain.Time(v.At))
	}
	line := fmt.Sprintf("%s of %s to %s", plain.Count(v.Commits, "commit", "commits"), v.Revision, v.Tip)
	if v.Merged > 0 {
		line += fmt.Sprintf(" (and %d merged)", v.Merged)
	}
	return line + ", as of " + plain.Time(v.At)
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
	return strings.Join(slices.DeleteFunc([]string{f.Object, f.File}, func(s string) bool { return s == "" }), ", ")
}

// maxSums is the maximum number of lines of one sum.
const maxSums = 10

// sum is a table: its heads, and a line for each name.
type sum struct {
	Heads []string
	Lines [][]string
	More  int
}

// sums returns the sums that have lines.
func sums(v *Report) []sum {
	var all []sum
	add := func(heads []string, lines [][]string) {
		if len(lines) > 0 {
			all = append(all, sum{heads, lines[:min(len(lines), maxSums)], max(0, len(lines)-maxSums)})
		}
	}
	for _, by := range []struct {
		name   string
		counts []ledger.Count
	}{
		{"policy", v.Totals.Policies}, {"exempted namespace", v.Totals.Exempted}, {"owner", v.Totals.Owners},
		{"policy, of renewals", v.Totals.Renewals},
	} {
		add([]string{"by " + by.name, "open", "ever"}, listOf(by.counts, func(c ledger.Count) []string {
			return []string{cmp.Or(c.Name, "(none)"), strconv.Itoa(c.Open), strconv.Itoa(c.Ever)}
		}))
	}
	add([]string{"renewed most", "how long", "renewals"}, listOf(v.Chains, func(c *ledger.Chain) []string {
		return []string{renewedMost(c), lasts(c), strconv.Itoa(c.Renewals)}
	}))
	return all
}

// notes returns the sentences below the findings.
func notes(v *Report) []string {
	var all []string
	pending := slices.DeleteFunc(slices.Clone(v.Entries), func(e *ledger.Entry) bool {
		return e.State != ledger.Waiting && e.State != ledger.NeverSigned || e.Request == nil || e.Request.At.IsZero()
	})
	if len(pending) > 0 {
		oldest := slices.MinFunc(pending, func(a, b *ledger.Entry) int { return a.Request.At.Compare(b.Request.At) })
		all = append(all, fmt.Sprintf("%s not signed yet; the oldest is of %s (by Git): %s",
			plain.Count(len(pending), "exception is", "exceptions are"), day(oldest.Request.At), oldest.Identity))
	}
	if n := v.Totals.NotCounted; n > 0 {
		all = append(all, plain.Count(n, "exception is", "exceptions are")+" not counted: the signature is invalid")
	}
	return all
}

// approval returns the namespace, name and version of an entry for people.
func approval(e *ledger.Entry) string {
	name := e.Identity.Namespace + "/" + e.Identity.Name
	if e.Version > 1 {
		name += fmt.Sprintf(" (%d)", e.Version)
	}
	return name
}

// renewedMost returns the first and the last exception of a chain as text.
func renewedMost(c *ledger.Chain) string {
	names := approval(c.First())
	if last := c.Last(); last != c.First() {
		names += " to " + approval(last)
	}
	return names
}

// lasts returns the length of a chain as text.
func lasts(c *ledger.Chain) string {
	const oneDay = 24 * time.Hour
	length, known := c.Length()
	switch {
	case known && length >= oneDay:
		return lifetime.FormatDuration(length.Truncate(oneDay)) + ", from " + day(c.From) + " to " + day(c.To)
	case known:
		return lifetime.FormatDuration(length.Truncate(time.Second)) + ", on " + day(c.From)
	case c.From.IsZero():
		return "from an unknown time"
	default:
		return "from " + day(c.From) + ", no expiry"
	}
}
