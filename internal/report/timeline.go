package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/plain"
)

// maxLines is the maximum number of lines in the timeline.
const maxLines = 40

// span is the time in which an exception is or was valid.
type span struct {
	entry    *ledger.Entry
	from, to time.Time
	open     bool // it never expires
}

// spanOf returns the span of an exception. ok is false if it is not verified or has no signing
// time.
func spanOf(e *ledger.Entry, at time.Time) (s span, ok bool) {
	if !e.Verified || e.Seal == nil || e.Seal.SignedAt.IsZero() {
		return span{}, false
	}
	s = span{entry: e, from: e.Seal.SignedAt, to: e.ExpiresAt}
	if e.StartsAt.After(s.from) {
		s.from = e.StartsAt
	}
	if s.to.IsZero() {
		s.open, s.to = true, at.Add(30*24*time.Hour)
	}
	if e.Left != nil && !e.Left.At.IsZero() && e.Left.At.Before(s.to) && e.Left.At.After(s.from) {
		s.to, s.open = e.Left.At, false
	}
	return s, true
}

// row is a line of the timeline: one exception, or a chain of renewals.
type row struct {
	chain *ledger.Chain // nil for a single exception
	last  span
	spans []span
	to    time.Time
}

// rows returns the lines: exceptions in the repository first, then by expiry.
func rows(v *Report) []*row {
	var all []*row
	of := map[*ledger.Chain]*row{}
	for _, e := range v.Entries {
		s, ok := spanOf(e, v.At)
		if !ok {
			continue
		}
		if e.Chain == nil {
			all = append(all, &row{last: s, spans: []span{s}, to: s.to})
			continue
		}
		r := of[e.Chain]
		if r == nil {
			r = &row{chain: e.Chain, last: s}
			of[e.Chain] = r
			all = append(all, r)
		}
		if e == e.Chain.Last() {
			r.last = s
		}
		r.spans = append(r.spans, s)
		if s.to.After(r.to) {
			r.to = s.to
		}
	}
	for _, r := range of {
		slices.SortStableFunc(r.spans, func(a, b span) int { return a.from.Compare(b.from) })
	}
	slices.SortStableFunc(all, func(a, b *row) int {
		return cmp.Or(cmp.Compare(gone(a.last.entry), gone(b.last.entry)), a.to.Compare(b.to), a.spans[0].from.Compare(b.spans[0].from))
	})
	return all
}

// timeline draws the validity of the exceptions, the next expiry first. Renewals of one exception
// share a line and are underlined.
func timeline(v *Report) (template.HTML, string) {
	all := rows(v)
	if len(all) == 0 {
		return "", ""
	}
	shown := all[:min(len(all), maxLines)]
	from, to := v.At, v.At
	drawn, left, chains := 0, 0, 0
	for i, r := range all {
		if i >= len(shown) {
			left += len(r.spans)
			continue
		}
		drawn += len(r.spans)
		if len(r.spans) > 1 {
			chains++
		}
		if r.spans[0].from.Before(from) {
			from = r.spans[0].from
		}
		if r.to.After(to) {
			to = r.to
		}
	}
	const (
		width, tall, names, top = 1040, 24, 300, 30
		room                    = width - names - 20
	)
	from, to = from.Add(-12*time.Hour), to.Add(12*time.Hour)
	x := func(t time.Time) float64 { return names + float64(t.Sub(from))/float64(to.Sub(from))*room }
	var d, grid drawing
	height := top + 8
	for _, r := range shown {
		y := float64(height - 8)
		height += tall + (d.lines(0, y+14, approval(r.last.entry), 30)-1)*lineHeight
		d.text(names-10, y+14, "small", "end", string(r.last.entry.State))
		if len(r.spans) > 1 {
			d.add(`<line class="chain" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x(r.spans[0].from), y+19, x(r.to), y+19)
		}
		for _, s := range r.spans {
			d.add(`<rect class="s-%s%s" x="%.1f" y="%.1f" width="%.1f" height="13" rx="3"><title>%s</title></rect>`, s.entry.State, r.link(), x(s.from), y+3,
				max(x(s.to)-x(s.from), 3), template.HTMLEscapeString(plain.Line(s.words())))
		}
	}
	for _, tick := range ticks(from, to) {
		grid.add(`<line class="grid" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, x(tick), top-6, x(tick), height)
		grid.text(x(tick), 14, "small", "middle", day(tick))
	}
	grid.WriteString(d.String())
	grid.add(`<line class="now" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, x(v.At), top-6, x(v.At), height)
	caption := fmt.Sprintf("From the signature to the expiry of %s; the dashed line is %s", plain.Count(drawn, "exception", "exceptions"), day(v.At))
	if chains > 0 {
		caption += ". Renewals share a line, underlined"
	}
	if left > 0 {
		caption += fmt.Sprintf(". %d more are in the list below", left)
	}
	return grid.done(width, height, "timeline", caption), caption
}

// link returns the CSS class of bars that share a line.
func (r *row) link() string {
	if len(r.spans) > 1 {
		return " link"
	}
	return ""
}

// words describes a bar.
func (s span) words() string {
	until := "until " + day(s.to)
	if s.open {
		until = "no expiry"
	}
	text := fmt.Sprintf("%s, %s: from %s %s", approval(s.entry), s.entry.State, day(s.from), until)
	if s.entry.Renews != nil {
		text += fmt.Sprintf(", renewal %d", s.entry.Renews.Number)
	}
	return text
}

// ticks returns at most nine dates between two times, at even distances.
func ticks(from, to time.Time) []time.Time {
	const most = 8
	days := 1
	for _, step := range []int{1, 2, 7, 14, 30, 60, 90, 180, 365, 730, 3650, 36500} {
		if days = step; int(to.Sub(from)/(24*time.Hour))/step < most {
			break
		}
	}
	var all []time.Time
	for t := from.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour); t.Before(to) && len(all) <= most; t = t.AddDate(0, 0, days) {
		all = append(all, t)
	}
	return all
}
