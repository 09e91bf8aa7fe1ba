package report

import (
	"cmp"
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
	CSP                                string
	Style                              template.CSS
	Day, At, Tool, Revision, Tip, Root string
	Commits                            string
	Tiles                              []tile
	Waited                             string
	WaitedOf                           int
	Findings                           []ledger.Finding
	MoreFindings                       int
	Often                              []string
	Timeline, Months                   template.HTML
	TimelineCaption                    string
	NotCounted                         string
	Charts                             []chart
	Entries                            []pageEntry
	EntryCaption                       string
	MoreEntries                        int
	Chains                             []*ledger.Chain
	MoreChains                         int
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

type pageEntry struct {
	State                                                                        ledger.State
	Name, Reason, Policies, Asked, AskedMark, Approved, Signed, Until, UntilMark string
	Facts                                                                        []fact
}

type fact struct{ Label, Mark, Value string }

// The marks of unverified values.
const (
	byGit      = "by Git"
	unverified = "unverified"
)

// HTML writes one self-contained page. Its Content-Security-Policy forbids scripts and every
// request.
func HTML(w io.Writer, v *Report) error {
	parsed, err := template.New("page").Funcs(template.FuncMap{"line": plain.Line, "about": about, "names": renewedMost, "lasts": lasts}).Parse(pageHTML)
	if err != nil {
		return err
	}
	digest := sha256.Sum256([]byte(pageCSS))
	p := &page{
		CSP:   "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'; base-uri 'none'; form-action 'none'",
		Style: template.CSS(pageCSS), //nolint:gosec // it is a file of this folder
		Day:   day(v.At), At: clock(v.At), Tool: v.Version, Revision: v.Revision, Commits: plain.Count(v.Commits, "commit", "commits"),
		Tip: fmt.Sprintf("%.12s", v.Tip), Root: fmt.Sprintf("%.12s", v.Root), WaitedOf: v.Totals.Of,
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
	// Exceptions that are still in the repository come first.
	sorted := slices.Clone(v.Entries)
	slices.SortStableFunc(sorted, func(a, b *ledger.Entry) int { return cmp.Compare(gone(a), gone(b)) })
	for _, e := range sorted[:min(len(sorted), maxPageEntries)] {
		p.Entries = append(p.Entries, pageEntryOf(e))
	}
	p.MoreEntries = max(0, len(v.Entries)-maxPageEntries)
	p.EntryCaption = plain.Count(len(v.Entries), "exception", "exceptions") + ", as approved or requested; current ones first"
	return parsed.Execute(w, p)
}

func gone(e *ledger.Entry) int {
	if e.State.Here() {
		return 0
	}
	return 1
}

// stateLabels describes each state in a few words.
var stateLabels = map[ledger.State]string{
	ledger.Open: "open", ledger.NotYet: "signed, still to start", ledger.Expired: "expired, and still there", ledger.Unverified: "with a seal that does not hold",
	ledger.NotSigned: "not signed yet", ledger.Waiting: "waiting to be signed", ledger.Removed: "gone", ledger.Dropped: "asked for, and taken back",
}

func pageEntryOf(e *ledger.Entry) pageEntry {
	out := pageEntry{State: e.State, Name: plain.Line(e.Identity.Namespace + "/" + e.Identity.Name), Reason: plain.Line(e.Said.Reason),
		Policies: plain.Line(policyNames(e)), Approved: plain.Line(e.Said.ApprovedBy), Until: day(e.ExpiresAt)}
	if e.Version > 1 {
		out.Name += fmt.Sprintf(" (approval %d)", e.Version)
	}
	mark := ""
	if !e.Verified {
		mark = unverified
		for _, text := range []*string{&out.Reason, &out.Approved, &out.Policies} {
			if *text != "" {
				*text += " (" + unverified + ")"
			}
		}
		if out.Until != "" {
			out.UntilMark = unverified
		}
	}
	who, signed := askedBy(e)
	out.Asked = plain.Line(who)
	switch {
	case who == "" || signed:
	case e.Said.RequestedBy != "":
		out.AskedMark = unverified
	default:
		out.AskedMark = byGit
	}
	if e.Seal != nil {
		out.Signed = day(e.Seal.SignedAt)
	}
	out.Facts = facts(e, mark)
	return out
}

// facts returns the whole record of an entry.
func facts(e *ledger.Entry, mark string) []fact {
	var all []fact
	say := func(label, mark, value string) {
		if value != "" {
			all = append(all, fact{label, mark, plain.Line(value)})
		}
	}
	say("object", "", e.Identity.String())
	said := e.Said
	for _, s := range [][2]string{
		{"reason", said.Reason}, {"ticket", said.Ticket}, {"owner", said.Owner}, {"category", said.Category},
		{"requested by", said.RequestedBy}, {"approved by", said.ApprovedBy}, {"pull request", said.PullRequest},
		{"merge commit", said.MergeCommit}, {"recorded from", said.RecordedFrom},
	} {
		say(s[0], mark, s[1])
	}
	for _, p := range e.Policies {
		text := p.String()
		if len(p.Rules) > 0 {
			text += ": " + strings.Join(p.Rules, ", ")
		}
		say("policy", mark, text)
	}
	say("counts from", mark, clock(e.StartsAt))
	say("counts until", mark, clock(e.ExpiresAt))
	if e.Seal != nil {
		say("seal now", "", verdict(e.Seal.Now))
		say("seal when signed", "", verdict(e.Seal.AtSigning))
		for _, s := range e.Seal.Signatures {
			who := s.Subject
			if who == "" {
				who = "a key"
			}
			if s.Authority == "" {
				who += ", not in the trust policy"
			}
			say("signed by", "", who)
			say("issuer", "", s.Issuer)
			say("workflow run", "", s.Run)
			say("at commit", "", s.Commit)
			say("signing time", "", clock(s.WitnessedAt))
			if s.LogIndex >= 0 {
				say("log entry", "", fmt.Sprintf("%d of %s", s.LogIndex, s.LogURL))
			}
		}
		say("message", "", e.Seal.MessageDigest)
	}
	say("renews", "", predecessor(e))
	if e.Renews != nil {
		say("message renewed", "", e.Renews.Digest)
		say("renewal", "", fmt.Sprintf("%d in a row", e.Renews.Number))
		if e.Renews.Of == nil {
			say("predecessor", "", "not in this history, with a seal that held")
		}
	}
	say("renewed by", "", successors(e))
	if e.Chain != nil {
		say("all renewals", "", lasts(e.Chain))
	}
	event := func(label string, at ledger.Event, more string) {
		say(label, byGit, at.By+", "+clock(at.At)+", "+at.Commit+more)
	}
	if e.Request != nil {
		event("asked for", e.Request.Event, ", in "+e.Request.File+before(e.Request.Before))
		for _, m := range e.Request.Moves {
			event("moved", m.Event, ", from "+m.From)
		}
		if e.Request.Merged != nil {
			event("merged", *e.Request.Merged, "")
		}
	}
	if e.Appeared != nil {
		event("came to signed/", e.Appeared.Event, before(e.Appeared.Before))
	}
	if e.Left != nil {
		event("left", e.Left.Event, ", "+string(e.Left.How))
	}
	say("file", "", e.File)
	say("in the cluster", "", string(e.Cluster))
	return all
}

// before returns a note for an event that may be older than the first known commit.
func before(known bool) string {
	if known {
		return ", or before: the history begins there"
	}
	return ""
}

func verdict(v ledger.Verdict) string {
	if v.Holds {
		return "it holds"
	}
	return v.Detail + " [" + v.Reason + "]"
}
