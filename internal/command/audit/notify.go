package audit

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/usage"
	"github.com/polex-dev/polex/pkg/lifetime"
)

const notifyHelp = `Notify people about changes of exceptions: as a comment in the pull request of the
request, and by webhooks of Slack and JSON.

--changes reports the exceptions that the commit of --ref signed or removed.
--expires-within reports exceptions that expire soon. --unused reports those that a JSON report
of polex-audit calls idle or not needed. --refused reports the rejections in a JSON report of
another command, such as polex-validate -o json. It trusts these reports.

--to names the recipient and the environment variable or file of its secret: the token of
github, or the URL of the webhook of json and slack. polex never prints it. A second
run updates its comments on GitHub; it sends webhooks again.

Exit codes: 0 all sent or nothing to send, 2 invalid command line or configuration, 3 a
recipient could not be reached or the history could not be read; the others are notified.`

const notifyExample = `  # after a promotion
  polex-audit notify --config trust.yaml --changes --to github=env:GITHUB_TOKEN --to slack=env:SLACK_URL
  # every night, printed and not sent
  polex-audit notify --config trust.yaml --expires-within 72h --to slack=file:slack-url --dry-run`

// notifyOptions are the flags of notify.
type notifyOptions struct {
	options

	changes     bool
	ending      string
	unused      []string
	refused     string
	to          []string
	pullRequest int
	merged      string
	login       string
	dryRun      bool
}

// Notify makes the command polex-audit notify.
func Notify(streams cli.Streams) *cobra.Command {
	o := &notifyOptions{}
	cmd := &cobra.Command{
		Use:                   "notify [flags]",
		Short:                 "Notify people about changes of exceptions",
		Long:                  notifyHelp,
		Example:               notifyExample,
		DisableFlagsInUseLine: true,
		Args:                  cli.NoPath,
	}
	format := cli.AddFormatFlag(cmd)
	flags := cmd.Flags()
	o.addHistory(cmd)
	flags.BoolVar(&o.changes, "changes", false,
		"report exceptions that the commit added to signed/, and expired ones that it removed")
	flags.StringVar(&o.ending, "expires-within", "",
		"report exceptions that expire within a `duration`, such as 72h or 2w")
	flags.StringArrayVar(&o.unused, "unused", nil,
		"report exceptions that a `report` of polex-audit -o json calls idle or not needed; repeat it for several "+
			"clusters")
	flags.StringVar(&o.refused, "refused", "", "report the rejections in a `file` of -o json")
	flags.StringArrayVar(&o.to, "to", nil,
		"github, json or slack, and its secret: `name=env:VAR` or name=file:PATH; can be repeated")
	flags.IntVar(&o.pullRequest, "pull-request", 0, "number of the pull request of --refused")
	flags.StringVar(&o.merged, "merged", "", "hash of the merge `commit` of --refused, which names the pull request")
	flags.StringVar(&o.login, "github-login", "", "account of the token (default: github-actions[bot])")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print the messages; send nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		n, err := o.load(streams, format)
		if err != nil {
			return err
		}
		if o.changes || o.ending != "" || len(o.unused) > 0 {
			n.history = &run{options: &o.options, streams: streams}
			if err := n.history.prepare(); err != nil {
				return err
			}
		}
		return n.notify(cmd.Context())
	}
	return cmd
}

// load rejects an invalid command line before any other work.
func (o *notifyOptions) load(streams cli.Streams, format *cli.Format) (*notification, error) {
	n := &notification{options: o, streams: streams, format: format, timeout: recipientTimeout,
		report: &cli.Report{Tool: "polex-audit", Reasons: notifyReasons(), Idle: nothingToSend}}
	switch {
	case !o.changes && o.ending == "" && len(o.unused) == 0 && o.refused == "":
		return nil, &cli.UsageError{Err: errors.New("missing --changes, --expires-within, --unused or --refused"),
			Hint: "add one, e.g. --expires-within 72h"}
	case len(o.to) == 0:
		return nil, &cli.UsageError{Err: errors.New("missing --to"), Hint: "add one, e.g. --to slack=env:SLACK_URL"}
	case o.pullRequest < 0:
		return nil, cli.Usagef("--pull-request %d is not the number of a pull request", o.pullRequest)
	case o.pullRequest != 0 && o.merged != "":
		return nil, cli.Usagef("--pull-request cannot be combined with --merged")
	case (o.pullRequest != 0 || o.merged != "") && o.refused == "":
		return nil, &cli.UsageError{Err: errors.New("--pull-request and --merged are for --refused"),
			Hint: "a signed exception names its pull request itself"}
	}
	if o.ending != "" {
		var err error
		if n.soon, err = lifetime.ParseDuration(o.ending); err != nil {
			return nil, &cli.UsageError{Err: fmt.Errorf("--expires-within: %w", err)}
		}
	}
	if len(o.unused) > 0 {
		var err error
		if n.unused, err = cli.ReadUnused(o.unused, streams.Now()); err != nil {
			return nil, err
		}
	}
	return n, n.readRecipients()
}

// recipientTimeout is shorter than a CI job, so one unresponsive recipient cannot use up the job.
const recipientTimeout = 3 * time.Minute

// notification is one run of the command.
type notification struct {
	options    *notifyOptions
	streams    cli.Streams
	format     *cli.Format
	report     *cli.Report
	history    *run // nil if no flag needs the history
	soon       time.Duration
	unused     *usage.Audit  // nil without --unused
	timeout    time.Duration // for all messages to one recipient
	recipients []recipient
}
