package audit

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/lifetime"
)

const notifyHelp = `Notify people about changes of exceptions: in the pull request that asked for one, and
by webhooks for Slack, Teams and whatever reads JSON.

--changes tells what the commit that --ref names has put under signed/, and what had
ended and left with it. --ending tells what ends within a time. Both say what the
ledger verified; who is trusted comes from flags and from --config alone. --refused
tells the refusals of a report that another command wrote with -o json. Nothing of
that is verified, and the notice says so.

--to names who is told, and where the secret for it is: a token for github, the
address of the webhook for json, slack and teams. It is read from an environment
variable or a file, and is never printed. With github, a comment is made in the pull
request that the signed record names, if it is one of --github-repository; that of
refusals is named by --pull-request, or by the commit that --merged names. A second
run changes the comment, and repeats nothing. A webhook is told again by each run.

With --dry-run nothing is read from --to and nothing is sent: what would be is
printed.

Addressees are told side by side, and each has the time of --timeout. Of more than 50
events, json gets every one, and the others get summaries that name all of them.

Exits 0 if everybody was told or there was nothing to tell, 2 for an invalid
command line, and 3 if somebody was not told or the history could not be read.
Others are told all the same.`

const notifyExample = `  # after a promotion, in a job that can neither sign nor push
  polex-audit notify --config trust.yaml --changes --to github=env:GITHUB_TOKEN --to slack=env:SLACK_URL

  # every night
  polex-audit notify --config trust.yaml --ending 72h --to github=env:GITHUB_TOKEN

  # what would be sent
  polex-audit notify --config trust.yaml --ending 72h --to teams=file:teams-url --dry-run`

// notifyOptions are the flags of notify.
type notifyOptions struct {
	options

	changes     bool
	ending      string
	refused     string
	to          []string
	pullRequest int
	merged      string
	repository  string
	login       string
	timeout     string
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
	o.noCache = true
	o.addHistory(cmd)
	flags.BoolVar(&o.changes, "changes", false, "report exceptions that the commit added to signed/, and expired ones that it removed")
	flags.StringVar(&o.ending, "ending", "", "report exceptions that expire within this `duration`, such as 72h or 2w")
	flags.StringVar(&o.refused, "refused", "", "tell the refusals of a report: `file` that a command wrote with -o json")
	flags.StringArrayVar(&o.to, "to", nil, "an `addressee=env:NAME` or addressee=file:PATH to send to: github, json, slack or teams; can be repeated")
	flags.IntVar(&o.pullRequest, "pull-request", 0, "`number` of the pull request that --refused is about")
	flags.StringVar(&o.merged, "merged", "", "`hash` of the merge that --refused is about, to find its pull request by")
	flags.StringVar(&o.repository, "github-repository", "", "`owner/name` of the repository that is commented in (default: $GITHUB_REPOSITORY)")
	flags.StringVar(&o.login, "github-login", "", "`account` that the token writes as (default: github-actions[bot])")
	flags.StringVar(&o.timeout, "timeout", "", "longest `duration` that telling one addressee everything may take, such as 90s (default: 3m)")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print the messages, and send nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		n, err := o.load(streams, format)
		if err != nil {
			return err
		}
		if o.changes || o.ending != "" {
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
	n := &notification{options: o, streams: streams, format: format, report: &cli.Report{Tool: "polex-audit", Reasons: notifyReasons(), Idle: nothingToTell}}
	switch {
	case !o.changes && o.ending == "" && o.refused == "":
		return nil, &cli.UsageError{Err: errors.New("missing --changes, --ending or --refused"), Hint: "add one, e.g. --ending 72h"}
	case len(o.to) == 0:
		return nil, &cli.UsageError{Err: errors.New("missing --to"), Hint: "add one, e.g. --to slack=env:SLACK_URL"}
	case o.pullRequest < 0:
		return nil, cli.Usagef("--pull-request %d is no number of one", o.pullRequest)
	case o.pullRequest != 0 && o.merged != "":
		return nil, cli.Usagef("--pull-request and --merged name two pull requests")
	case (o.pullRequest != 0 || o.merged != "") && o.refused == "":
		return nil, &cli.UsageError{Err: errors.New("--pull-request and --merged are for --refused"), Hint: "a signed exception names its pull request itself"}
	}
	if o.ending != "" {
		var err error
		if n.soon, err = lifetime.ParseDuration(o.ending); err != nil {
			return nil, &cli.UsageError{Err: fmt.Errorf("--ending: %w", err)}
		}
	}
	n.timeout = defaultTimeout
	if o.timeout != "" {
		var err error
		if n.timeout, err = time.ParseDuration(o.timeout); err != nil || n.timeout <= 0 {
			return nil, &cli.UsageError{Err: fmt.Errorf("--timeout %q is not a duration", o.timeout), Hint: "write it like 90s or 5m"}
		}
	}
	return n, n.addressees()
}

// defaultTimeout is shorter than a CI job, so one unresponsive addressee cannot use up the job.
const defaultTimeout = 3 * time.Minute

// notification is one run of the command.
type notification struct {
	options *notifyOptions
	streams cli.Streams
	format  *cli.Format
	report  *cli.Report
	history *run // nil if no flag needs the history
	soon    time.Duration
	timeout time.Duration // for all messages to one addressee
	told    []addressee
}
