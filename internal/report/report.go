package report

import (
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/ledger"
)

// Report is the input of all formats.
type Report struct {
	*ledger.Ledger
	Version    string // of polex
	Repository string // whose history it is
	Revision   string // revision on the command line
	MadeAt     time.Time
	Trust      Trust
	Totals     ledger.Sums
	All        bool     // list removed exceptions too
	Failed     []string // kinds of findings that fail the run
	Status     int      // its exit code
	Width      int      // of the terminal of a table, in characters; 0 cuts nothing
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

// New makes the report. failOn are the kinds of findings that fail the run.
func New(l *ledger.Ledger, failOn map[ledger.Kind]bool) *Report {
	v := &Report{Ledger: l, Totals: l.Sums()}
	for _, f := range l.Findings {
		if failOn[f.Kind] && !slices.Contains(v.Failed, string(f.Kind)) {
			v.Failed = append(v.Failed, string(f.Kind))
		}
	}
	return v
}

// Whole reports whether the report is complete: it is not empty, every object of the cluster could
// be read, and the clone is not shallow or allowShallow is true.
func (v *Report) Whole(allowShallow bool) bool {
	return len(v.Entries)+len(v.Findings) > 0 && (allowShallow || !v.Shallow) &&
		!slices.ContainsFunc(v.Findings, func(f ledger.Finding) bool { return f.Kind == ledger.ClusterUnreadable })
}

// listed returns the entries for the lists: those in the folders, or all if v.All is true.
func (v *Report) listed() []*ledger.Entry {
	return slices.DeleteFunc(slices.Clone(v.Entries), func(e *ledger.Entry) bool { return !v.All && !e.State.Here() })
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}
