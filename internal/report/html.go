package report

import (
	"crypto/sha256"
	_ "embed" // the page and its style
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/plain"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// Limits of the page, so that a browser can show it. The other formats have everything.
const (
	maxPageEntries  = 10_000
	maxPageFindings = 500
	maxBars         = 12
)

// page is the input of the template. html/template escapes its texts. Fields of type template.HTML
// contain only texts that this package has escaped.
type page struct {
	*Report
	CSP              string
	Style            template.CSS
	Day, Of          string
	About            []fact
	Tiles            []tile
	Waited           string
	Findings         []ledger.Finding
	MoreFindings     int
	Often            []string
	Timeline, Months template.HTML
	TimelineCaption  string
	NotCounted       string
	Charts           []chart
	Lists            []list
	Chains           []*ledger.Chain
	MoreChains       int
}

// list are the exceptions of some states.
type list struct {
	ID, Name string
	Groups   []pageGroup
	N, More  int
}

type pageGroup struct {
	Name    string
	Members []pageMember
}

// pageMember is an exception in a group. Facts are its record, which its first group shows.
type pageMember struct {
	member
	ID, Exception, Asked, Mark, Until string
	Exempted, Policies, Log           []string
	Facts                             []fact
}

type tile struct {
	State ledger.State
	N     int
	Label string
}

type chart struct {
	Name string
	SVG  template.HTML
	More int
}

type fact struct {
	Label  string
	Values []string
}

// HTML writes one self-contained page. Its Content-Security-Policy forbids scripts and every
// request.
func HTML(w io.Writer, v *Report) error {
	parsed, err := template.New("page").Funcs(template.FuncMap{"line": plain.Line, "about": about, "names": renewedMost, "lasts": lasts, "parts": parts}).Parse(pageHTML)
	if err != nil {
		return err
	}
	digest := sha256.Sum256([]byte(pageCSS))
	p := &page{
		CSP:    "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'; base-uri 'none'; form-action 'none'",
		Style:  template.CSS(pageCSS), //nolint:gosec // it is a file of this folder
		Report: v, Day: day(v.At), Of: fmt.Sprintf("%s of the branch, %d merged", plain.Count(v.Commits, "commit", "commits"), v.Merged),
	}
	for _, f := range reportFields {
		p.About = append(p.About, fact{name(f.path), lines(f.values(v))})
	}
	if v.Totals.Of > 0 {
		p.Waited = lasting(v.Totals.Wait)
	}
	states := v.States()
	for _, state := range ledger.States() {
		if n := states[state]; n > 0 || state == ledger.Open {
			p.Tiles = append(p.Tiles, tile{state, n, stateLabels[state]})
		}
	}
	p.Findings = v.Findings[:min(len(v.Findings), maxPageFindings)]
	p.MoreFindings = max(0, len(v.Findings)-maxPageFindings)
	for _, c := range v.Totals.Often {
		p.Often = append(p.Often, plain.Line(often(c)))
	}
	if n := v.Totals.NotCounted; n > 0 {
		p.NotCounted = plain.Count(n, "is", "are")
	}
	p.Timeline, p.TimelineCaption = timeline(v)
	p.Months = months(v)
	for _, s := range sums(v) {
		if len(s.counts) > 0 {
			p.Charts = append(p.Charts, chart{s.name, bars(s.name, s.counts), max(0, len(s.counts)-maxBars)})
		}
	}
	p.Chains = v.Chains[:min(len(v.Chains), maxBars)]
	p.MoreChains = max(0, len(v.Chains)-maxBars)
	p.list()
	return parsed.Execute(w, p)
}

// parts lets a browser break an address, an identity or a path between its parts.
func parts(text string) template.HTML {
	return template.HTML(partBreaks.Replace(template.HTMLEscapeString(text))) //nolint:gosec // the text was escaped
}

// partBreaks follow an escaped text: no entity of HTMLEscapeString contains "/" or "@".
var partBreaks = strings.NewReplacer("://", "://", "/", "/<wbr>", "@", "<wbr>@")

// list sorts the exceptions into lists: current ones first.
func (p *page) list() {
	p.Lists = []list{{ID: "current", Name: "Current exceptions"}, {ID: "pending", Name: "Pending exceptions"}, {ID: "removed", Name: "Removed exceptions"}}
	of := make([][]*ledger.Entry, len(p.Lists))
	ids := map[*ledger.Entry]string{}
	for i, e := range p.Entries {
		ids[e] = fmt.Sprint("e", i+1)
		at := 2 * gone(e)
		if e.State == ledger.Waiting {
			at = 1
		}
		of[at] = append(of[at], e)
	}
	room := maxPageEntries
	for i := range p.Lists {
		l := &p.Lists[i]
		l.N = len(of[i])
		for _, g := range groups(of[i]) {
			shown := g.Members[:min(len(g.Members), room)]
			room, l.More = room-len(shown), l.More+len(g.Members)-len(shown)
			if len(shown) > 0 {
				l.Groups = append(l.Groups, pageGroup{plain.Line(where(g.Namespace)), listOf(shown, func(m member) pageMember { return pageMemberOf(m, ids[m.Entry]) })})
			}
		}
	}
}

func gone(e *ledger.Entry) int {
	if e.State.Here() {
		return 0
	}
	return 1
}

// stateLabels describes each state in a few words.
var stateLabels = map[ledger.State]string{
	ledger.Open: "open", ledger.NotYet: "signed, before the start", ledger.Expired: "expired, still in signed/", ledger.Altered: "altered after signing", ledger.Unsigned: "unsigned",
	ledger.Unverified: "invalid signature", ledger.NeverSigned: "never signed", ledger.Waiting: "pending", ledger.Removed: "removed", ledger.Dropped: "dropped before signing",
}

// inColumns are the fields that the columns of the page show.
var inColumns = []string{
	"exempted.namespaces", "exempted.kinds", "exempted.names", "exempted.narrowedBy", "policies.name", "policies.rules", "policies.severity", "object", "state",
	"said.requestedBy", "said.approvedBy", "said.ticket", "said.owner", "said.reason", "signing.signatures.logIndex", "signing.signatures.authority",
}

func pageMemberOf(m member, id string) pageMember {
	out := pageMember{member: m, ID: id, Exception: plain.Line(m.Identity.String()), Until: day(m.ExpiresAt)}
	if m.Version > 1 {
		out.Exception += fmt.Sprintf(" (approval %d)", m.Version)
	}
	out.Exempted = lines(m.exempts())
	out.Policies = lines(listOf(m.Policies, func(p ledger.Policy) string {
		text := p.String()
		if len(p.Rules) > 0 {
			text += ": " + strings.Join(p.Rules, ", ")
		}
		if p.Severity != "" {
			text += " (severity " + p.Severity + ")"
		}
		return text
	}))
	out.Log = lines([]string{of("signing.signatures.authority", m.Entry), of("signing.signatures.logIndex", m.Entry)})
	who, signed := askedBy(m.Entry)
	if out.Asked = plain.Line(who); who != "" && !signed && m.Said.RequestedBy == "" {
		out.Mark = "by Git"
	}
	if m.First {
		for _, f := range fields {
			if values := lines(f.values(m.Entry)); len(values) > 0 && !slices.Contains(inColumns, f.path) {
				out.Facts = append(out.Facts, fact{name(f.path), values})
			}
		}
	}
	return out
}

// lines returns the values that are not empty, each safe for one line.
func lines(values []string) []string {
	var said []string
	for _, value := range values {
		if value != "" {
			said = append(said, plain.Line(value))
		}
	}
	return said
}
