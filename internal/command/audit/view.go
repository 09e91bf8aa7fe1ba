package audit

import (
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/report"
)

// report makes the report with the settings of the command line.
func (r *run) report(l *ledger.Ledger) *report.Report {
	v := report.New(l, r.options.often, r.fails)
	v.Version, v.Revision, v.All = cli.VersionText(), r.options.ref, r.options.all
	v.Width, v.Terminal = widthOf(r.streams.Out)
	switch {
	case !v.Whole(r.options.allowShallow):
		v.Status = cli.Undecided
	case len(v.Failed) > 0:
		v.Status = cli.Refused
	}
	return v
}
