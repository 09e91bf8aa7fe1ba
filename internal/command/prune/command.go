// Package prune is the command polex-prune. It removes expired exceptions from the signed folder.
package prune

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/commitflags"
	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/internal/promotion/deliver"
	"github.com/polex-dev/polex/internal/prune"
	"github.com/polex-dev/polex/internal/usage"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
)

const help = `Remove expired exceptions from signed/, so that Argo CD or Flux removes them from the
cluster and nothing brings them back.

polex-prune reads HEAD, or with --push the remote branch. It decides by the stated expiry;
polex-verify checks signatures. Other documents of a file stay. If an expiry cannot be
read, polex-prune names the file, leaves it alone and prunes the others.

With --unused, it also removes exceptions that polex-audit found idle or not needed in the
cluster, in a pull request. Without --commit, --push or --pull-request, it prints the plan.

Exit codes: 0 nothing expired is left, 2 invalid command line or configuration, 3 a
document could not be read or the repository failed.`

const example = `  # the plan
  polex-prune --expires-within 72h
  # in a scheduled workflow
  polex-prune --push
  # propose to remove what is not used
  polex-audit --config trust.yaml --kubeconfig ~/.kube/config -o json >audit.json
  polex-prune --unused audit.json --pull-request`

// The reasons of results.
const (
	reasonPruned    = "expired"
	reasonEndsSoon  = "ends-soon"
	reasonMalformed = "malformed"
)

type options struct {
	config string
	within string   // --expires-within
	unused []string // --unused
	commit commitflags.Flags
}

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:                   "polex-prune [flags]",
		Short:                 "Remove expired exceptions from signed/",
		Long:                  help,
		Example:               example,
		DisableFlagsInUseLine: true,
		Args:                  cli.NoPath,
	}
	format := cli.AddFormatFlag(cmd)
	flags := cmd.Flags()
	cli.AddConfigFlag(flags, &o.config)
	flags.StringVar(&o.within, "expires-within", "",
		"also list exceptions that expire within a `duration`, such as 72h or 2w")
	flags.StringArrayVar(&o.unused, "unused", nil,
		"also propose to remove exceptions that a `report` of polex-audit -o json calls idle or not needed; repeat "+
			"it for several clusters")
	o.commit.Add(cmd, streams.Timing, "the removal")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r, err := o.load(streams, format)
		if err != nil {
			return err
		}
		return r.prune(cmd.Context())
	}
	return cmd
}

// load rejects an invalid command line before any other work.
func (o *options) load(streams cli.Streams, format *cli.Format) (*run, error) {
	way := o.commit.Way()
	switch err := o.commit.Check(way); {
	case err != nil:
		return nil, err
	case o.commit.Branch != "" && !(deliver.To{Way: way}).Pushes():
		return nil, cli.Usagef("--branch requires --push or --pull-request")
	case len(o.unused) > 0 && (o.commit.Commit || o.commit.Push):
		return nil, &cli.UsageError{Err: errors.New("--unused cannot be combined with --commit and --push: people " +
			"decide about an exception that is still valid"), Hint: "use --pull-request"}
	}
	cfg, err := cli.LoadRepositoryConfig(o.config)
	if err != nil {
		return nil, err
	}
	_, trusted, err := cfg.Trust()
	if err != nil {
		return nil, cli.InConfig(err)
	}
	r := &run{options: o, streams: streams, format: format,
		look: prune.Options{Signed: cfg.Directories.Signed, Terms: trusted.Terms, Now: streams.Now()}}
	if len(o.unused) > 0 {
		if r.look.Unused, err = cli.ReadUnused(o.unused, r.look.Now); err != nil {
			return nil, err
		}
	}
	if o.within != "" {
		if r.look.Soon, err = lifetime.ParseDuration(o.within); err != nil {
			return nil, &cli.UsageError{Err: fmt.Errorf("--expires-within: %w", err)}
		}
	}
	return r, nil
}

// run is one run of the command.
type run struct {
	options *options
	streams cli.Streams
	format  *cli.Format
	look    prune.Options
}

func (r *run) prune(ctx context.Context) error {
	clone, err := commitflags.Open(r.streams)
	if err != nil {
		return err
	}
	defer clone.Close() //nolint:errcheck // the kernel would do it
	to, err := r.options.commit.Delivery(clone, r.options.commit.Way(), r.look.Now)
	if err != nil {
		return err
	}
	to, found, result, err := prune.Run(ctx, clone, r.look, to)
	if errors.Is(err, prune.ErrOutside) {
		return &cli.UsageError{Err: err}
	}
	if err != nil {
		return commitflags.Hint(err, "")
	}
	reported := r.report(found, result, to)
	if err := r.propose(ctx, clone, result, to); err != nil {
		return err
	}
	return reported
}

// propose opens the pull request, if the forge made its commit.
func (r *run) propose(ctx context.Context, clone *commit.Clone, result commit.Result, to deliver.To) error {
	if to.Way != deliver.PullRequest || result.Commit.IsZero() || !r.options.commit.ByForge() {
		return nil
	}
	made, err := clone.Repository.Commit(result.Commit)
	if err != nil {
		return err
	}
	repository, err := r.options.commit.Forge()
	if err != nil {
		return err
	}
	pull, err := repository.Propose(ctx, forge.NewProposal("These exceptions have expired, or Kyverno's reports say "+
		"that they are not needed. Nothing verifies the reports:", made.Message,
		to.Push.As, to.Push.To.Branch))
	if err != nil {
		return cli.Hint(fmt.Errorf("the commit is on %s, and its pull request is not open: %w", to.Remote(), err),
			"give the job pull-requests: write; open the pull request, or delete the branch and run this again")
	}
	_, _ = fmt.Fprintln(r.streams.Err, "pull request "+plain.Line(pull.URL))
	return nil
}

// report prints the result.
func (r *run) report(found *prune.Found, result commit.Result, to deliver.To) error {
	report := &cli.Report{Tool: "polex-prune", Reasons: reasons(), Idle: "nothing has expired",
		Documents: len(found.Ended) + len(found.Soon) + len(found.Unreadable)}
	verb := "removed"
	report.Done = verb
	if to.Way == deliver.Plan || found.Proposed {
		verb, report.Done = "would be removed", "would be removed"
	}
	for _, e := range found.Ended {
		line := resultFor(e)
		line.Outcome, line.Reason = cli.Pass, reasonPruned
		line.Message = fmt.Sprintf("%s expired at %s: %s", e.Identity, clock(e.ExpiresAt), verb)
		if e.Usage != nil {
			line.Reason = string(e.Usage.State)
			line.Message = fmt.Sprintf("%s: %s: %s", e.Identity, e.Usage.Text(), verb)
		}
		if !result.Commit.IsZero() {
			line.Details["commit"] = result.Commit.String()
		}
		report.Add(line)
	}
	for _, e := range found.Soon {
		line := resultFor(e)
		line.Outcome, line.Reason = cli.Warn, reasonEndsSoon
		line.Message = fmt.Sprintf("%s expires at %s", e.Identity, clock(e.ExpiresAt))
		line.Hint = fmt.Sprintf("fix the workload, or renew the exception: polex-request --renew %s --expires-in 7d",
			e.Identity.Name)
		report.Add(line)
	}
	for _, bad := range found.Unreadable {
		report.Add(cli.Result{Outcome: cli.Unknown, File: bad.Position.File, Line: bad.Position.Line,
			Column: bad.Position.Column,
			Reason: reasonMalformed, Message: bad.Message, Hint: "the file stays as it is: fix or remove it by hand"})
	}
	if err := r.format.Write(r.streams.Out, report); err != nil {
		return err
	}
	if found.Proposed {
		_, _ = fmt.Fprintf(r.streams.Err, "%s exists already, and was left alone: open its pull request, or delete it "+
			"to propose this again\n", to.Remote())
	}
	planned := ""
	if to.Way == deliver.Plan && len(found.Ended) > 0 {
		planned = "prune"
	}
	commitflags.Print(r.streams.Err, planned, to.Remote(), result)
	return report.Err()
}

func reasons() []exception.Reason {
	return []exception.Reason{
		{Name: reasonPruned, Doc: "the exception has expired and is removed"},
		{Name: string(usage.Idle), Doc: "the report of --unused calls the exception idle, and it is removed"},
		{Name: string(usage.NotNeeded), Doc: "the report of --unused calls it not needed, and it is removed"},
		{Name: reasonEndsSoon, Doc: "the exception expires within the duration of --expires-within",
			Severity: exception.SeverityWarning},
		{Name: reasonMalformed, Doc: "the document, or a time in it, cannot be read"},
	}
}

func resultFor(e prune.Exception) cli.Result {
	return cli.Result{File: e.Position.File, Line: e.Position.Line, Column: e.Position.Column,
		Object:  e.Identity.String(),
		Details: map[string]any{"expiresAt": clock(e.ExpiresAt)}}
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }
