package audit

import (
	"slices"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/report"
)

// report is what the formats show.
func (r *run) report(l *ledger.Ledger) *report.Report {
	v := &report.Report{Ledger: l, Version: cli.VersionText(), Revision: r.options.ref, Totals: l.Sums(r.options.often), All: r.options.all}
	v.Width, v.Terminal = widthOf(r.streams.Out)
	for _, f := range l.Findings {
		if r.fails[f.Kind] && !slices.Contains(v.Failed, string(f.Kind)) {
			v.Failed = append(v.Failed, string(f.Kind))
		}
		if f.Kind == ledger.UnreadableThere {
			v.Status = cli.Undecided
		}
	}
	switch {
	case len(l.Entries) == 0 && len(l.Findings) == 0, l.Shallow && !r.options.allowShallow, v.Status == cli.Undecided:
		v.Status = cli.Undecided
	case len(v.Failed) > 0:
		v.Status = cli.Refused
	}
	return v
}
