// Package prune is the command polex-prune. It removes expired exceptions from the signed folder.
package prune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/commitflags"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/internal/promote/deliver"
	"github.com/polex-dev/polex/internal/prune"
	"github.com/polex-dev/polex/pkg/exception"
)

const help = `Take exceptions that have ended out of signed/, so that what deploys the folder
takes them out of the cluster, and nothing brings them back.

What HEAD holds counts, or with --push what the remote has. An exception has
ended when the time that it states has come; whether its signature holds is for
polex-verify. Of a file that holds others too, those stay as they are. A file of
which the times cannot be read is left alone and named, and the others are pruned
all the same.

Without --commit or --push, polex-prune changes the files of the work tree, and the
commit is yours to make; --dry-run changes nothing. With --warn-before, what ends within that time is named as well.

Exits 0 if nothing is left that has ended, or nothing had, 2 for a command line
that cannot be meant, and 3 if a document could not be read or the repository
failed.`

const example = `  # what is about to happen
  polex-prune --dry-run --warn-before 72h

  # what a schedule runs
  polex-prune --push --author 'Exceptions workflow <workflow@example.com>'`

// The reasons of results.
const (
	reasonPruned    = "expired"
	reasonEndsSoon  = "ends-soon"
	reasonMalformed = "malformed"
)

type options struct {
	config     string
	signed     string
	warnBefore string
	dryRun     bool
	commit     commitflags.Flags
}

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:                   "polex-prune [flags] | polex-prune cleanup-policies PATH...",
		Short:                 "Take exceptions that have ended out of signed/",
		Long:                  help,
		Example:               example,
		DisableFlagsInUseLine: true,
		Args:                  cli.NoPath,
	}
	cmd.AddCommand(newCleanupPolicies(streams))
	format := cli.AddFormatFlag(cmd)
	flags := cmd.Flags()
	cli.AddConfigFlag(flags, &o.config)
	flags.StringVar(&o.signed, "signed", "", "`folder` of the signed exceptions (default: signed)")
	flags.StringVar(&o.warnBefore, "warn-before", "", "list exceptions that expire within this `duration`, such as 72h or 2w")
	flags.BoolVar(&o.dryRun, "dry-run", false, "list the exceptions to remove, and change nothing")
	o.commit.Add(flags, "the removal")
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
	if err := o.commit.Check(); err != nil {
		return nil, err
	}
	cfg, err := cli.LoadRepositoryConfig(o.config)
	if err != nil {
		return nil, err
	}
	o.signed = cmp.Or(o.signed, cfg.Directories.Signed)
	terms, err := cfg.Terms()
	if err != nil {
		return nil, cli.InConfig(err)
	}
	r := &run{options: o, streams: streams, format: format, look: prune.Options{Signed: o.signed, Terms: terms, Now: streams.Now(), DryRun: o.dryRun}}
	if o.warnBefore != "" {
		if r.look.Soon, err = lifetime.ParseDuration(o.warnBefore); err != nil {
			return nil, &cli.UsageError{Err: fmt.Errorf("--warn-before: %w", err)}
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
	clone, err := commitflags.Open(r.streams.Err)
	if err != nil {
		return err
	}
	defer clone.Close() //nolint:errcheck // the kernel would do it
	to, err := r.options.commit.Delivery(clone, r.options.commit.Way(), r.look.Now)
	if err != nil {
		return err
	}
	found, result, err := prune.Run(ctx, clone, r.look, to)
	if errors.Is(err, prune.ErrOutside) {
		return &cli.UsageError{Err: err}
	}
	if err != nil {
		return commitflags.Hint(err, "")
	}
	return r.report(found, result, to)
}

// report prints the result.
func (r *run) report(found *prune.Found, result commit.Result, to deliver.To) error {
	report := &cli.Report{Tool: "polex-prune", Reasons: reasons(), Idle: "nothing has expired", Documents: len(found.Ended) + len(found.Soon) + len(found.Unreadable)}
	verb := "removed"
	report.Done = verb
	changed := !r.options.dryRun && !r.options.commit.Commits() && len(found.Ended) > 0
	switch {
	case r.options.dryRun:
		verb, report.Done = "would be removed", "would be removed"
	case changed:
		report.Done = "removed from the work tree"
	}
	for _, e := range found.Ended {
		line := resultFor(e)
		line.Outcome, line.Reason = cli.Pass, reasonPruned
		line.Message = fmt.Sprintf("%s expired at %s: %s", e.Identity, clock(e.ExpiresAt), verb)
		if !result.Commit.IsZero() {
			line.Details["commit"] = result.Commit.String()
		}
		report.Add(line)
	}
	for _, e := range found.Soon {
		line := resultFor(e)
		line.Outcome, line.Reason = cli.Warn, reasonEndsSoon
		line.Message = fmt.Sprintf("%s expires at %s", e.Identity, clock(e.ExpiresAt))
		line.Hint = fmt.Sprintf("fix the workload, or renew the exception: polex-request --renew %s --for 7d", e.Identity.Name)
		report.Add(line)
	}
	for _, bad := range found.Unreadable {
		report.Add(cli.Result{Outcome: cli.Unknown, File: bad.Position.File, Line: bad.Position.Line, Column: bad.Position.Column,
			Reason: reasonMalformed, Message: bad.Message, Hint: "its file stays as it is: mend it, or take it away by hand"})
	}
	if err := r.format.Write(r.streams.Out, report); err != nil {
		return err
	}
	switch {
	case result.Commit.IsZero():
	case to.Way == deliver.Push:
		_, _ = fmt.Fprintf(r.streams.Err, "pushed to %s %s\n", to.Remote(), result.Commit)
	default:
		_, _ = fmt.Fprintf(r.streams.Err, "committed %s\n", result.Commit)
	}
	if changed {
		_, _ = fmt.Fprintln(r.streams.Err, "nothing is committed: commit the change, or run it with --commit or --push; git restore undoes it")
	}
	if result.Left != "" {
		_, _ = fmt.Fprintln(r.streams.Err, plain.Line(result.Left))
	}
	return report.Err()
}

func reasons() []exception.Reason {
	return []exception.Reason{
		{Name: reasonPruned, Doc: "its end has come, and it leaves the folder"},
		{Name: reasonEndsSoon, Doc: "its end comes within the time that was asked about", Severity: exception.SeverityWarning},
		{Name: reasonMalformed, Doc: "the document, or a time in it, cannot be read"},

		{Name: reasonPolicy, Doc: "a policy deletes it once it has ended", Severity: exception.SeverityNote},
		{Name: reasonNoPolicy, Doc: "it has no end to come that a policy could wait for"},
		{Name: reasonNoException, Doc: "it is no PolicyException"},
	}
}

func resultFor(e prune.Exception) cli.Result {
	return cli.Result{File: e.Position.File, Line: e.Position.Line, Column: e.Position.Column, Object: e.Identity.String(),
		Details: map[string]any{"expiresAt": clock(e.ExpiresAt)}}
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }
