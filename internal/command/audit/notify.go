package audit

import (
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
	cli.Check(flags, "expires-within", cli.IsDuration)
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
		n := &notification{notifyOptions: o, streams: streams, format: format, timeout: recipientTimeout,
			report: &cli.Report{Tool: "polex-audit", Reasons: notifyReasons(), Idle: nothingToSend}}
		if err := n.prepare(); err != nil {
			return err
		}
		return n.notify(cmd.Context())
	}
	return cmd
}

// recipientTimeout is shorter than a CI job, so one unresponsive recipient cannot use up the job.
const recipientTimeout = 3 * time.Minute

// notification is one run of the command.
type notification struct {
	*notifyOptions
	streams    cli.Streams
	format     *cli.Format
	report     *cli.Report
	history    *run // nil if no flag needs the history
	soon       time.Duration
	audits     *usage.Audit  // nil without --unused
	timeout    time.Duration // for all messages to one recipient
	recipients []recipient
}

// prepare rejects an invalid command line before any other work.
func (n *notification) prepare() (err error) {
	ofHistory := n.changes || n.ending != "" || len(n.unused) > 0
	switch {
	case !ofHistory && n.refused == "":
		return cli.UsageHint("add one, e.g. --expires-within 72h",
			"missing --changes, --expires-within, --unused or --refused")
	case len(n.to) == 0:
		return cli.UsageHint("add one, e.g. --to slack=env:SLACK_URL", "missing --to")
	case n.pullRequest < 0:
		return cli.Usagef("--pull-request %d is not the number of a pull request", n.pullRequest)
	case n.pullRequest != 0 && n.merged != "":
		return cli.Usagef("--pull-request cannot be combined with --merged")
	case (n.pullRequest != 0 || n.merged != "") && n.refused == "":
		return cli.UsageHint("a signed exception names its pull request itself",
			"--pull-request and --merged are for --refused")
	}
	n.soon, _ = lifetime.ParseDuration(n.ending) // the flag checks it
	if len(n.unused) > 0 {
		if n.audits, err = cli.ReadUnused(n.unused, n.streams.Now()); err != nil {
			return err
		}
	}
	if err := n.readRecipients(); err != nil || !ofHistory {
		return err
	}
	n.history = &run{options: &n.options, streams: n.streams}
	return n.history.prepare()
}
