package audit

import (
	"path/filepath"
	"time"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/report"
)

// report makes the report with the settings of the command line.
func (r *run) report(l *ledger.Ledger) *report.Report {
	v := report.New(l, r.options.often, r.fails)
	v.Version, v.Revision, v.All = cli.VersionText(), r.options.ref, r.options.all
	v.MadeAt, v.Repository = r.now, r.repository(l)
	v.Trust = report.Trust{Digest: r.policy.Digest(), Root: r.policy.Root().Digest(), Threshold: r.policy.Threshold()}
	for _, a := range r.policy.Authorities() {
		v.Trust.Signers = append(v.Trust.Signers, report.Signer{Name: a.Name(), Identity: a.String()})
	}
	switch {
	case !v.Whole(r.options.allowShallow):
		v.Status = cli.Undecided
	case len(v.Failed) > 0:
		v.Status = cli.Refused
	}
	return v
}

// repository names the repository: by the certificate of the newest trusted signature, or else
// by its folder.
func (r *run) repository(l *ledger.Ledger) string {
	name, newest := "", time.Time{}
	for _, e := range l.Entries {
		if e.Seal == nil {
			continue
		}
		for _, s := range e.Seal.Signatures {
			if s.Authority != "" && s.Source != "" && s.WitnessedAt.After(newest) {
				name, newest = s.Source, s.WitnessedAt
			}
		}
	}
	if name != "" {
		return name
	}
	folder, err := filepath.Abs(r.options.git)
	if err != nil {
		folder = r.options.git
	}
	return filepath.Base(folder)
}
