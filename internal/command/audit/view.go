package audit

import (
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/ledger"
)

// view is what the formats show.
type view struct {
	*ledger.Ledger
	revision string
	sums     ledger.Sums
	often    int
	all      bool
	failed   []string // kinds that were found, of those that --fail-on names
	status   int
	width    int  // of the table, in characters
	terminal bool // which breaks lines
}

func (r *run) view(l *ledger.Ledger) *view {
	v := &view{Ledger: l, revision: r.options.ref, sums: l.Sums(r.options.often), often: r.options.often, all: r.options.all}
	v.width, v.terminal = widthOf(r.streams.Out)
	for _, f := range l.Findings {
		if r.fails[f.Kind] && !slices.Contains(v.failed, string(f.Kind)) {
			v.failed = append(v.failed, string(f.Kind))
		}
		if f.Kind == ledger.UnreadableThere {
			v.status = cli.Undecided
		}
	}
	switch {
	case len(l.Entries) == 0 && len(l.Findings) == 0, l.Shallow && !r.options.allowShallow, v.status == cli.Undecided:
		v.status = cli.Undecided
	case len(v.failed) > 0:
		v.status = cli.Refused
	}
	return v
}

// listed are the entries of a list for people: what lies in the folders, or
// everything.
func (v *view) listed() []*ledger.Entry {
	var listed []*ledger.Entry
	for _, e := range v.Entries {
		if v.all || e.State.Here() {
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

// signature is the one that counts, or nil.
func signature(e *ledger.Entry) *ledger.Signature {
	if e.Seal == nil {
		return nil
	}
	for i := range e.Seal.Signatures {
		if e.Seal.Signatures[i].Authority != "" {
			return &e.Seal.Signatures[i]
		}
	}
	return nil
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
