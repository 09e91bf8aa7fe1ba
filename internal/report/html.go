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

//go:embed page.js
var pageJS string

// Limits of the page, so that a browser can show it. The other formats have everything.
const (
	maxPageEntries  = 10_000
	maxPageFindings = 500
)

// page is the input of the template. Its functions and html/template escape all texts.
type page struct {
	*Report
	CSP          string
	Style        template.CSS
	Script       template.JS
	Day, Of      string
	About        []fact
	Tiles        []tile
	Findings     []ledger.Finding
	MoreFindings int
	Notes        []string
	Timeline     *timeline
	Sums         []sum
	Lists        []list
}

// list are the exceptions of some states.
type list struct {
	ID, Name string
	Columns  []column
	Groups   []group
	N, More  int
}

// column is a column of a list.
type column struct {
	Label string
	Cell  func(m member) template.HTML
}

type tile struct {
	State ledger.State
	N     int
	Label string
}

// HTML writes one self-contained page. Its Content-Security-Policy permits the script of this folder,
// and forbids others and every request.
func HTML(w io.Writer, v *Report) error {
	ids := map[*ledger.Entry]int{}
	for i, e := range v.Entries {
		ids[e] = i + 1
	}
	parsed, err := template.New("page").Funcs(template.FuncMap{
		"parts": parts, "line": plain.Line, "about": about, "approval": approval, "day": day, "facts": facts,
		"id": func(e *ledger.Entry) string { return fmt.Sprint("e", ids[e]) },
	}).Parse(pageHTML)
	if err != nil {
		return err
	}
	digest := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	p := &page{
		CSP: "default-src 'none'; style-src " + digest(pageCSS) + "; script-src " + digest(pageJS) +
			"; base-uri 'none'; form-action 'none'",
		Style:  template.CSS(pageCSS), //nolint:gosec // it is a file of this folder
		Script: template.JS(pageJS),   //nolint:gosec // likewise
		Report: v, Day: day(v.At),
		Of:           fmt.Sprintf("%s of the branch, %d merged", plain.Count(v.Commits, "commit", "commits"), v.Merged),
		Findings:     v.Findings[:min(len(v.Findings), maxPageFindings)],
		MoreFindings: max(0, len(v.Findings)-maxPageFindings),
		Notes:        notes(v), Timeline: timelineOf(v), Sums: sums(v), Lists: lists(v), About: v.facts(),
	}
	states := v.States()
	for _, state := range ledger.States() {
		if n := states[state]; n > 0 || state == ledger.Open {
			p.Tiles = append(p.Tiles, tile{state, n, stateLabels[state]})
		}
	}
	return parsed.Execute(w, p)
}

// parts makes a text safe on one line, and lets a browser break an address, an identity or a path
// between its parts. No entity of HTMLEscapeString contains "/" or "@".
func parts(text any) template.HTML {
	escaped := template.HTMLEscapeString(plain.Line(fmt.Sprint(text)))
	breaks := strings.NewReplacer("://", "://", "/", "/<wbr>", "@", "<wbr>@")
	return template.HTML(breaks.Replace(escaped)) //nolint:gosec // the text was escaped
}

// lists sorts the exceptions into lists: current ones first.
func lists(v *Report) []list {
	var of [3][]*ledger.Entry
	for _, e := range v.Entries {
		switch {
		case e.State == ledger.Waiting:
			of[1] = append(of[1], e)
		case e.State.Here():
			of[0] = append(of[0], e)
		default:
			of[2] = append(of[2], e)
		}
	}
	all := []list{
		{ID: "current", Name: "Current exceptions"}, {ID: "pending", Name: "Pending exceptions"},
		{ID: "removed", Name: "Removed exceptions"},
	}
	room := maxPageEntries
	for i := range all {
		l := &all[i]
		l.N = len(of[i])
		for _, g := range groups(of[i]) {
			n := min(len(g.Members), room)
			room, l.More = room-n, l.More+len(g.Members)-n
			if g.Members = g.Members[:n]; n > 0 {
				l.Groups = append(l.Groups, g)
			}
		}
		l.Columns = slices.DeleteFunc(slices.Clone(pageColumns), func(c column) bool {
			return !slices.ContainsFunc(l.Groups, func(g group) bool {
				return slices.ContainsFunc(g.Members, func(m member) bool { return c.Cell(m) != "" })
			})
		})
	}
	return all
}

// pageColumns are the columns of a list. Those without a value are left out.
var pageColumns = []column{
	{"Exception", func(m member) template.HTML { return textLines(approval(m.Entry)) }},
	{"Policies", func(m member) template.HTML { return textLines(m.policies()...) }},
	{"Reason", func(m member) template.HTML { return textLines(m.Said.Reason) }},
	{"Exempted", func(m member) template.HTML { return textLines(m.Exempts()...) }},
	{"Requested by", requester},
	{"Approved by", func(m member) template.HTML { return textLines(m.Said.ApprovedBy) }},
	{"Ticket", func(m member) template.HTML { return textLines(m.Said.Ticket) }},
	{"Owner", func(m member) template.HTML { return textLines(m.Said.Owner) }},
	{"Authority, log index", func(m member) template.HTML { return textLines(m.log()...) }},
	{"Expires", expiry},
	{"Usage", func(m member) template.HTML { return textLines(m.usage()...) }},
}

// requester is the stated one or, marked, the author of the commit.
func requester(m member) template.HTML {
	if m.Said.RequestedBy == "" && m.Request != nil {
		return `<span class="mark">by Git</span> ` + parts(m.Request.By)
	}
	return parts(m.Said.RequestedBy)
}

// usage says whether the exception is needed in the cluster, and why.
func (m member) usage() []string {
	if m.Usage == nil {
		return nil
	}
	return []string{string(m.Usage.State), m.Usage.Text()}
}

func expiry(m member) template.HTML {
	state := template.HTMLEscapeString(string(m.State))
	html := `<span class="state ` + state + `">` + state + "</span>"
	if of := day(m.ExpiresAt); of != "" {
		html = `<span class="day">` + template.HTMLEscapeString(of) + "</span> " + html
	}
	return template.HTML(html) //nolint:gosec // the texts were escaped
}

// textLines writes texts on lines of their own.
func textLines(texts ...string) template.HTML {
	return template.HTML(strings.Join(listOf(texts, func(text string) string { //nolint:gosec // parts escapes
		return string(parts(text))
	}), "<br>"))
}

// stateLabels describes each state in a few words.
var stateLabels = map[ledger.State]string{
	ledger.Open: "open", ledger.NotYet: "signed, before the start", ledger.Expired: "expired, still in signed/",
	ledger.Altered: "altered after signing", ledger.Unsigned: "unsigned", ledger.Unverified: "invalid signature",
	ledger.NeverSigned: "never signed", ledger.Waiting: "pending", ledger.Removed: "removed",
	ledger.Dropped: "dropped before signing",
}

// inColumns are the fields that the columns of the page show.
var inColumns = strings.Fields(`exempted.namespaces exempted.kinds exempted.names exempted.narrowedBy
policies.name policies.rules policies.severity state said.requestedBy said.approvedBy said.ticket
said.owner said.reason signing.signatures.logIndex signing.signatures.authority usage.state usage.resources
usage.why`)

// facts are the other fields of an entry.
func facts(m member) []fact {
	var all []fact
	r := rowOf(m.Entry)
	for _, path := range fields {
		if values := notEmpty(r.Values(path)); len(values) > 0 && !slices.Contains(inColumns, path) {
			all = append(all, fact{name(path), values})
		}
	}
	return all
}

// policies describes each policy with its rules and severity.
func (m member) policies() []string {
	return listOf(m.Policies, func(p ledger.Policy) string {
		text := p.String()
		if len(p.Rules) > 0 {
			text += ": " + strings.Join(p.Rules, ", ")
		}
		if p.Severity != "" {
			text += " (severity " + p.Severity + ")"
		}
		return text
	})
}

// log are the authorities and the log indexes of the signatures.
func (m member) log() []string {
	authorities, indexes := []string{}, []string{}
	for _, s := range m.Signatures() {
		authorities = append(authorities, s.Authority)
		if s.LogIndex >= 0 {
			indexes = append(indexes, fmt.Sprint(s.LogIndex))
		}
	}
	return notEmpty([]string{joined(authorities), joined(indexes)})
}

func notEmpty(values []string) []string {
	return slices.DeleteFunc(values, func(value string) bool { return value == "" })
}
