package report

import (
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/ledger"
)

// Report is what the formats show.
type Report struct {
	*ledger.Ledger
	Version    string // of polex
	Repository string // whose history it is
	Revision   string // what was asked about
	MadeAt     time.Time
	Trust      Trust
	Totals     ledger.Sums
	All        bool     // lists what has gone, too
	Failed     []string // kinds of findings that fail the run
	Status     int      // its exit status
	Width      int      // of a table, in characters
	Terminal   bool     // a table breaks its lines
}

// Trust is the trust policy that judged the signatures.
type Trust struct {
	Digest    string   `json:"digest"`
	Root      string   `json:"trustedRoot"` // its digest
	Threshold int      `json:"threshold"`
	Signers   []Signer `json:"signers"`
}

// Signer is a trusted signer.
type Signer struct {
	Name     string `json:"name"`
	Identity string `json:"identity"`
}

// New makes the report of a ledger. failOn are the kinds of findings that fail it.
func New(l *ledger.Ledger, often int, failOn map[ledger.Kind]bool) *Report {
	v := &Report{Ledger: l, Totals: l.Sums(often)}
	for _, f := range l.Findings {
		if failOn[f.Kind] && !slices.Contains(v.Failed, string(f.Kind)) {
			v.Failed = append(v.Failed, string(f.Kind))
		}
	}
	return v
}

// Whole reports whether it tells all that there is to tell: that is something, a part of
// the cluster did not stay unread, and the history is not cut off, unless that is allowed.
func (v *Report) Whole(allowShallow bool) bool {
	return len(v.Entries)+len(v.Findings) > 0 && (allowShallow || !v.Shallow) &&
		!slices.ContainsFunc(v.Findings, func(f ledger.Finding) bool { return f.Kind == ledger.UnreadableThere })
}

// listed are the entries of a list for people: what lies in the folders, or
// everything.
func (v *Report) listed() []*ledger.Entry {
	var listed []*ledger.Entry
	for _, e := range v.Entries {
		if v.All || e.State.Here() {
			listed = append(listed, e)
		}
	}
	return listed
}

// askedBy says who asked for an exception, and whether that was signed: it is what
// Git says otherwise.
func askedBy(e *ledger.Entry) (who string, signed bool) {
	if e.Said.RequestedBy != "" {
		return e.Said.RequestedBy, e.Verified
	}
	if e.Request != nil {
		return e.Request.By, false
	}
	return "", false
}

func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}
