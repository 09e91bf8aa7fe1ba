// Package audit is the command polex-audit. It reports the history of every exception in a Git
// repository and, with notify, sends notifications about changes.
package audit

import (
	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
)

const help = `Report the history and state of every exception from Git: the request, the reason, the
approvers, the signing workflow run, the log entry, the expiry and the removal.

polex-audit verifies signatures with the trust policy of --config. Authors and times of commits
come from Git, which nobody verifies: the report marks them.

With --live or --kubeconfig, it compares the cluster with signed/ and reports drift. From the
policy reports of Kyverno, it reports which exceptions are in use.

Exit codes: 0 no finding of --fail-on, 1 findings, 2 invalid command line or
configuration, 3 the history or the cluster could not be read, or there is no exception.`

const example = `  # open exceptions and findings
  polex-audit --config trust.yaml
  # for an audit of the state on 30 September
  polex-audit --config trust.yaml --at 2026-09-30 --report html=report.html --report csv=report.csv
  # compare the cluster with Git
  kubectl get policyexceptions.kyverno.io,policyexceptions.policies.kyverno.io -A -o yaml >cluster.yaml
  polex-audit --config trust.yaml --live cluster.yaml --fail-on drift,expired`

type options struct {
	config string

	git, ref     string
	at           string
	seen         string
	allowShallow bool

	clusterFile, kubeconfig string
	kyvernoCLI              string
	policies                []string

	failOn  []string
	renewed int
	all     bool

	given func(flag string) bool
}

// addHistory adds the flags for the repository, the revision and the trust policy.
func (o *options) addHistory(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.given = flags.Changed
	flags.StringVar(&o.config, "config", "", "configuration `file` (default: none)")
	flags.StringVar(&o.git, "git", ".", "`folder` of a Git repository, with or without a work tree")
	flags.StringVar(&o.ref, "ref", "HEAD", "last `commit` of the history: HEAD, a branch, a tag or a whole hash")
}

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:                   "polex-audit [flags]",
		Short:                 "Report the history and state of every exception",
		Long:                  help,
		Example:               example,
		DisableFlagsInUseLine: true,
		Args:                  cli.NoPath,
	}
	cmd.AddCommand(Notify(streams))
	format := addFormatFlag(cmd)
	flags := cmd.Flags()
	o.addHistory(cmd)
	flags.StringVar(&o.at, "at", "", "report the state at a `time`: a date (its end in UTC) or RFC 3339")
	flags.StringVar(&o.clusterFile, "live", "",
		"compare with live exceptions and reports in a `file` of kubectl get -A -o yaml, or -")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "compare with the cluster of a kubeconfig `file`")
	flags.StringVar(&o.kyvernoCLI, "kyverno-cli", "",
		"ask this `program`, Kyverno's command line, which exempt resources would pass without an exception")
	flags.StringSliceVar(&o.policies, "policies", nil,
		"paths of the Kyverno policies, for severities and names of rules (default: directories.policies of the "+
			"configuration)")
	flags.StringSliceVar(&o.failOn, "fail-on", nil,
		"exit with 1 for these findings: drift, expired, idle, not-needed, any, or the name of a finding")
	flags.IntVar(&o.renewed, "renewal-threshold", 0,
		"report exceptions with at least so many renewals in a row; 0: none")
	flags.BoolVar(&o.all, "all", false, "also list removed exceptions in a table or Markdown")
	flags.StringVar(&o.seen, "previous", "", "last `commit` of an earlier report, which the history must contain")
	flags.BoolVar(&o.allowShallow, "allow-shallow", false, "accept a clone without all of the history")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r := &run{options: o, streams: streams, format: format}
		if err := r.prepare(); err != nil {
			return err
		}
		return r.audit(cmd.Context())
	}
	return cmd
}
