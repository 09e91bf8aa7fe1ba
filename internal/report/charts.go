package report

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/plain"
)

// The charts are SVG built from numbers and escaped texts. The style of the page sets their
// colours.

// drawing builds an SVG.
type drawing struct{ strings.Builder }

func (d *drawing) add(format string, args ...any) { fmt.Fprintf(d, format, args...) }

func (d *drawing) text(x, y float64, class, anchor, text string) {
	d.add(`<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`, x, y, class, anchor, template.HTMLEscapeString(plain.Line(text)))
}

// lines writes a text with at most so many characters on each line, and returns the number of
// lines. It breaks the text between its parts if it can.
func (d *drawing) lines(x, y float64, text string, most int) int {
	letters, n := []rune(plain.Line(text)), 0
	for ; len(letters) > 0; n++ {
		wide := min(most, len(letters))
		for at := wide; at > most/2 && wide < len(letters); at-- {
			if strings.ContainsRune("-/.@ ", letters[at-1]) {
				wide = at
				break
			}
		}
		d.text(x, y+float64(n*lineHeight), "", "start", string(letters[:wide]))
		letters = letters[wide:]
	}
	return n
}

// lineHeight is the height of a line in a drawing, in pixels.
const lineHeight = 17

// done returns the drawing. The title describes it in words for screen readers.
func (d *drawing) done(width, height int, class, title string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %d %d" class="%s" role="img" aria-label="%s">%s</svg>`, //nolint:gosec // every text was escaped
		width, height, class, template.HTMLEscapeString(plain.Line(title)), d.String()))
}

// bars draws one bar per name: the open exceptions and all exceptions so far.
func bars(name string, counts []ledger.Count) template.HTML {
	const (
		width   = 360
		longest = width - 80
	)
	counts = counts[:min(len(counts), maxBars)]
	most := 1
	for _, c := range counts {
		most = max(most, c.Ever)
	}
	var d drawing
	var words []string
	y := 0.0
	for _, c := range counts {
		y += float64(d.lines(0, y+15, named(c.Name), 44)*lineHeight) + 5
		scale := float64(longest) / float64(most)
		d.add(`<rect class="rest" x="0" y="%.1f" width="%.1f" height="12" rx="2"/>`, y, float64(c.Ever)*scale)
		d.add(`<rect class="bar" x="0" y="%.1f" width="%.1f" height="12" rx="2"/>`, y, float64(c.Open)*scale)
		d.text(float64(c.Ever)*scale+6, y+11, "small", "start", fmt.Sprintf("%d of %d", c.Open, c.Ever))
		words = append(words, fmt.Sprintf("%s: %d open of %d", named(c.Name), c.Open, c.Ever))
		y += 18
	}
	return d.done(width, int(y), "", "By "+name+". "+strings.Join(words, "; "))
}

// maxMonths is the number of months in the chart, the most recent ones.
const maxMonths = 24

// months draws the number of signed exceptions per month. One month alone gives no chart.
func months(v *Report) template.HTML {
	signed := map[string]int{}
	first := v.At
	for _, e := range v.Entries {
		if e.Verified && e.Seal != nil && !e.Seal.SignedAt.IsZero() && !e.Seal.SignedAt.After(v.At) {
			signed[e.Seal.SignedAt.UTC().Format("2006-01")]++
			if e.Seal.SignedAt.Before(first) {
				first = e.Seal.SignedAt
			}
		}
	}
	if len(signed) < 2 {
		return ""
	}
	start := time.Date(v.At.Year(), v.At.Month()-maxMonths+1, 1, 0, 0, 0, 0, time.UTC)
	if begin := time.Date(first.UTC().Year(), first.UTC().Month(), 1, 0, 0, 0, 0, time.UTC); begin.After(start) {
		start = begin
	}
	var names []string
	most := 1
	for t := start; !t.After(v.At); t = t.AddDate(0, 1, 0) {
		name := t.Format("2006-01")
		names = append(names, name)
		most = max(most, signed[name])
	}
	const width, height, base = 1040, 170, 140
	step := float64(width) / float64(len(names))
	var d drawing
	var words []string
	for i, name := range names {
		tall := float64(signed[name]) / float64(most) * (base - 24)
		middle := (float64(i) + .5) * step
		d.add(`<rect class="bar" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="2"/>`, float64(i)*step+step*.15, base-tall, step*.7, tall)
		d.text(middle, base-tall-5, "small", "middle", fmt.Sprint(signed[name]))
		if len(names) <= 12 || i%3 == 0 {
			d.text(middle, base+18, "small", "middle", name)
		}
		words = append(words, fmt.Sprintf("%s: %d", name, signed[name]))
	}
	return d.done(width, height, "timeline", "Signed by month. "+strings.Join(words, "; "))
}
