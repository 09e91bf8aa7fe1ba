package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/clusterread"
	"github.com/polex-dev/polex/internal/command/trustflags"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/internal/report"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// run is one run of the command.
type run struct {
	*options
	streams  cli.Streams
	format   *cli.Output[*report.Report]
	policy   *trust.Policy
	verifier *verify.Verifier

	now, asOf        time.Time // asOf is that of --at, or zero
	signed, unsigned string
	statements       config.Statements
	previous         git.Hash
	fails            map[ledger.Kind]bool
	unreported       string // why the cluster has no reports, or ""
}

// prepare rejects an invalid command line before it reads anything else.
func (r *run) prepare() error {
	cfg, err := cli.LoadConfig(r.config)
	if err != nil {
		return err
	}
	if err := git.CheckRevision(r.ref); err != nil {
		return &cli.UsageError{Err: err}
	}
	r.statements, r.policies = cfg.Statements, cfg.PolicyPaths(r.policies)
	r.signed = path.Clean(filepath.ToSlash(cmp.Or(cfg.Directories.Signed, "signed")))
	r.unsigned = path.Clean(filepath.ToSlash(cmp.Or(cfg.Directories.Unsigned, "unsigned")))
	r.now = r.streams.Now().UTC().Truncate(time.Second)
	if r.asOf, err = timeOf(r.at, r.now); err != nil {
		return err
	}
	if r.previous = git.NewHash(r.seen); r.seen != "" && !git.IsHash(r.seen) {
		return cli.UsageHint("use source.commit of the JSON of an earlier run",
			"--previous %q is not a whole hash", r.seen)
	}
	live, kubeconfig := r.given("live"), r.given("kubeconfig")
	switch {
	case r.kyvernoCLI != "" && !live && !kubeconfig:
		return cli.Usagef("--kyverno-cli requires --live or --kubeconfig")
	case live && kubeconfig:
		return cli.Usagef("--live cannot be combined with --kubeconfig")
	case (live || kubeconfig) && !r.asOf.IsZero():
		return cli.UsageHint("remove one of them",
			"--at cannot be combined with --live and --kubeconfig: the cluster is as it is now")
	case r.renewed < 0:
		return cli.Usagef("--renewal-threshold must not be negative")
	}
	if err := r.failures(live || kubeconfig); err != nil {
		return err
	}
	if r.policy, err = trustflags.Policy(cfg); err != nil {
		return err
	}
	if r.verifier, err = verify.New(r.policy); err == nil {
		r.verifier.Remember(nil) // the cluster has the same signatures as Git
	}
	return err
}

// readPolicies returns the policies of --policies, or nil without one. It names unreadable files.
func (r *run) readPolicies() *kyverno.PolicySet {
	unread := &cli.Report{}
	policies := cli.Policies(r.policies, unread)
	for _, result := range unread.Results() {
		_, _ = fmt.Fprintf(r.streams.Err, "polex-audit: %s: %s\n", plain.Line(result.File), plain.Line(result.Message))
	}
	return policies
}

// timeOf reads --at, which must not be in the future. A date means the end of that day in UTC: for today
// that is in the future, so it means the current time. No text is no time.
func timeOf(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := parseAt(text)
	switch {
	case err != nil:
		return at, cli.UsageHint("write 2026-09-30, which is the end of that day in UTC, or 2026-09-30T17:00:00+02:00",
			"--at %q is neither a date nor a time", text)
	case !at.After(now):
		return at, nil
	case len(text) == len(time.DateOnly) && at.Sub(now) <= 24*time.Hour:
		return now, nil
	}
	return at, cli.Usagef("--at %s is in the future", text)
}

// parseAt reads an RFC 3339 time, or a date, which means the end of that day in UTC. The time zone
// of the machine does not matter.
func parseAt(text string) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.Add(24*time.Hour - time.Second), nil
	}
	at, err := exception.ParseTime(text)
	return at.UTC(), err
}

// failures reads --fail-on. It rejects kinds about a cluster if no cluster is given: such a run
// would always pass.
func (r *run) failures(cluster bool) error {
	r.fails = map[ledger.Kind]bool{}
	for _, name := range r.failOn {
		kinds := ledger.Select(name)
		for _, kind := range kinds {
			r.fails[kind] = true
		}
		switch {
		case len(kinds) == 0:
			names := []string{"drift", "any"}
			for _, kind := range slices.Sorted(slices.Values(ledger.Kinds())) {
				names = append(names, string(kind))
			}
			return cli.UsageHint(cmp.Or(exception.Nearest(name, names), "expected "+strings.Join(names, ", ")),
				"--fail-on %q is not a kind of finding", name)
		case name == string(ledger.RenewedOften) && r.renewed == 0:
			return cli.UsageHint("add --renewal-threshold 3", "--fail-on renewed-often requires --renewal-threshold")
		case !cluster && (name == "drift" || ledger.Kind(name).IsDrift() || ledger.Kind(name).IsUsage()):
			return cli.UsageHint("name it with --live or --kubeconfig", "--fail-on %s requires a cluster", name)
		case name == string(ledger.KindNotNeeded) && r.kyvernoCLI == "":
			return cli.UsageHint("add --kyverno-cli kyverno, Kyverno's command line",
				"--fail-on not-needed requires --kyverno-cli")
		}
	}
	return nil
}

// undecided reports whether --fail-on asks about the usage, and no report tells it.
func (r *run) undecided() bool {
	return r.unreported != "" && slices.ContainsFunc(r.failOn, func(name string) bool {
		return ledger.Kind(name).IsUsage()
	})
}

func (r *run) audit(ctx context.Context) error {
	debug.SetGCPercent(200) // the command ends soon: most of its garbage need not be collected
	l, err := r.ledger(ctx)
	if err != nil {
		return err
	}
	policies := r.readPolicies()
	if err := r.compare(ctx, l, policies); err != nil {
		return err
	}
	if policies != nil {
		l.Weigh(policies)
	}
	v := r.report(l)
	if err := r.format.Write(r.streams.Out, v); err != nil {
		return err
	}
	if v.Status != cli.Passed {
		r.explain(l, v)
		return cli.StatusError(v.Status)
	}
	return nil
}

// ledger reads the history.
func (r *run) ledger(ctx context.Context) (*ledger.Ledger, error) {
	repository, err := git.Open(ctx, r.git)
	if err != nil {
		return nil, cli.Hint(err, "name a repository with --git")
	}
	defer repository.Close() //nolint:errcheck // only read
	tip, err := repository.Resolve(r.ref)
	if err != nil {
		return nil, err
	}
	bar := cli.StartProgress(r.streams.Err, "reading the repository")
	l, err := ledger.Read(repository, tip, ledger.Options{
		Signed: r.signed, Unsigned: r.unsigned, Verifier: r.verifier, Statements: r.statements, Now: r.now,
		At: r.asOf, Seen: r.previous, Renewed: r.renewed, Progress: bar.Tell,
	})
	bar.Stop()
	if errors.Is(err, ledger.ErrFolders) {
		return nil, &cli.UsageError{Err: err}
	}
	return l, err
}

// compare compares the report with the cluster of the flags.
func (r *run) compare(ctx context.Context, l *ledger.Ledger, policies *kyverno.PolicySet) error {
	var live *clusterread.Live
	var err error
	switch {
	case r.clusterFile != "":
		live = clusterread.File(r.clusterFile, r.streams.In, r.kyvernoCLI != "")
	case r.kubeconfig != "":
		live, err = clusterread.Open(r.kubeconfig)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	if err := l.Compare(func(add func(*exception.Document) error) ([]string, error) {
		return live.Exceptions(ctx, add)
	}, r.verifier); err != nil {
		return err
	}
	reports := l.Reports()
	reports.Policies = policies
	if err = live.AddReports(ctx, reports); err == nil && r.kyvernoCLI != "" {
		err = live.Ask(ctx, r.kyvernoCLI, reports)
	}
	if err != nil {
		return err
	}
	r.unreported = reports.Missing
	if r.unreported == "" || r.clusterFile == "" {
		l.Use(reports)
	}
	return nil
}

// explain writes the reason for a nonzero exit code to standard error.
func (r *run) explain(l *ledger.Ledger, v *report.Report) {
	message, hint := "--fail-on: "+strings.Join(v.Failed, ", "), ""
	switch {
	case len(l.Entries) == 0:
		message = "no exception was ever in " + plain.Line(r.signed) + " or " + plain.Line(r.unsigned)
		hint = "name other folders with directories in the configuration, or another --ref"
	case v.Status == cli.Undecided && l.Shallow:
		message = "the clone is shallow, so the report is incomplete"
		hint = "git fetch --unshallow, or --allow-shallow for a report on the current state only"
	case v.Status == cli.Undecided && r.undecided():
		message = "it is not known which exceptions are in use: " + r.unreported
		hint = "Kyverno's reports controller makes reports; --live needs those of wgpolicyk8s.io or openreports.io too"
	case v.Status == cli.Undecided:
		message = "some exceptions of the cluster could not be read"
	}
	_, _ = fmt.Fprintf(r.streams.Err, "polex-audit: %s\n", message)
	if hint != "" {
		_, _ = fmt.Fprintf(r.streams.Err, "polex-audit: hint: %s\n", hint)
	}
}

func addFormatFlag(cmd *cobra.Command) *cli.Output[*report.Report] {
	return cli.AddOutputFlags(cmd, "audit report", []cli.Writer[*report.Report]{
		{Name: "table", Write: table}, {Name: "json", Write: report.JSON}, {Name: "csv", Write: report.CSV},
		{Name: "markdown", Write: report.Markdown}, {Name: "html", Write: report.HTML},
		{Name: "prometheus", Write: report.Prometheus},
	})
}

// table fits the table into a terminal, and cuts nothing in a file.
func table(w io.Writer, v *report.Report) error {
	fitting := *v
	fitting.Width = cli.TerminalWidth(w)
	return report.Table(w, &fitting)
}

// report makes the report with the settings of the command line.
func (r *run) report(l *ledger.Ledger) *report.Report {
	v := report.New(l, r.fails)
	v.Version, v.Revision, v.All = cli.VersionText(), r.ref, r.all
	v.MadeAt, v.Repository = r.now, l.Repository(r.git)
	v.Trust = report.Trust{Digest: r.policy.Digest(), Root: r.policy.Root().Digest(), Threshold: r.policy.Threshold()}
	for _, a := range r.policy.Authorities() {
		v.Trust.Signers = append(v.Trust.Signers, report.Signer{Name: a.Name(), Identity: a.String()})
	}
	switch {
	case !v.Whole(r.allowShallow) || r.undecided():
		v.Status = cli.Undecided
	case len(v.Failed) > 0:
		v.Status = cli.Refused
	}
	return v
}
