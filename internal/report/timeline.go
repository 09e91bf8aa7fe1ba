package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/plain"
)

// maxLines is the maximum number of lines in the timeline.
const maxLines = 40

// timeline shows the validity of the exceptions from From to To. The positions are in thousandths.
type timeline struct {
	From, To, Caption string
	Now               float64
	Lines             []*timelineLine
}

// timelineLine is one exception, or a chain of renewals.
type timelineLine struct {
	Last *ledger.Entry // the one that is in the repository
	Bars []bar
	to   time.Time
}

// bar is the time in which an exception is or was valid.
type bar struct {
	State    ledger.State
	Words    string
	X, Width float64
	from, to time.Time
}

// barOf returns the bar of an exception. ok is false if it is not verified or has no signing time.
func barOf(e *ledger.Entry, at time.Time) (b bar, ok bool) {
	if !e.Verified || e.Seal == nil || e.Seal.SignedAt.IsZero() {
		return bar{}, false
	}
	b = bar{State: e.State, from: e.Start(), to: e.ExpiresAt}
	until := "until " + day(b.to)
	if b.to.IsZero() {
		until, b.to = "no expiry", at.AddDate(0, 0, 30)
	}
	if e.Left != nil && e.Left.At.Before(b.to) && e.Left.At.After(b.from) {
		until, b.to = "until "+day(e.Left.At), e.Left.At
	}
	b.Words = fmt.Sprintf("%s, %s: from %s %s", approval(e), e.State, day(b.from), until)
	if e.Renews != nil {
		b.Words += fmt.Sprintf(", renewal %d", e.Renews.Number)
	}
	return b, true
}

// timelineLines returns the lines: exceptions in the repository first, then by expiry.
func timelineLines(v *Report) []*timelineLine {
	var all []*timelineLine
	of := map[*ledger.Chain]*timelineLine{}
	for _, e := range v.Entries {
		b, ok := barOf(e, v.At)
		if !ok {
			continue
		}
		l := of[e.Chain]
		if e.Chain == nil || l == nil {
			l = &timelineLine{Last: e}
			all = append(all, l)
		}
		if e.Chain != nil {
			of[e.Chain] = l
			if e == e.Chain.Last() {
				l.Last = e
			}
		}
		l.Bars = append(l.Bars, b)
		if b.to.After(l.to) {
			l.to = b.to
		}
	}
	for _, l := range all {
		slices.SortStableFunc(l.Bars, func(a, b bar) int { return a.from.Compare(b.from) })
	}
	slices.SortStableFunc(all, func(a, b *timelineLine) int {
		if a.Last.State.Here() != b.Last.State.Here() {
			return map[bool]int{true: -1, false: 1}[a.Last.State.Here()]
		}
		return cmp.Or(a.to.Compare(b.to), a.Bars[0].from.Compare(b.Bars[0].from))
	})
	return all
}

// timelineOf draws the validity of the exceptions, the next expiry first. Renewals of one exception
// share a line. It returns nil if no exception has a start.
func timelineOf(v *Report) *timeline {
	all := timelineLines(v)
	if len(all) == 0 {
		return nil
	}
	t := &timeline{Lines: all[:min(len(all), maxLines)]}
	from, to, bars, left := v.At, v.At, 0, 0
	for _, l := range t.Lines {
		bars += len(l.Bars)
		if l.Bars[0].from.Before(from) {
			from = l.Bars[0].from
		}
		if l.to.After(to) {
			to = l.to
		}
	}
	for _, l := range all[len(t.Lines):] {
		left += len(l.Bars)
	}
	x := func(at time.Time) float64 { return 1000 * float64(at.Sub(from)) / float64(max(to.Sub(from), 1)) }
	for _, l := range t.Lines {
		for i := range l.Bars {
			b := &l.Bars[i]
			b.X, b.Width = x(b.from), max(x(b.to)-x(b.from), 3)
		}
	}
	t.From, t.To, t.Now = day(from), day(to), x(v.At)
	t.Caption = fmt.Sprintf("From the signature to the expiry of %s; the line is %s. Renewals share a line",
		plain.Count(bars, "exception", "exceptions"), day(v.At))
	if left > 0 {
		t.Caption += fmt.Sprintf(". %d more are in the list above", left)
	}
	return t
}
