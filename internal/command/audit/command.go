// Package audit is the command polex-audit.
package audit

import (
	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/trustflags"
)

const help = `Report the history and state of every exception, from a repository's history and the seals
in it: who asked for it and why, who approved it, which workflow run signed which
commit and when, until when it counts, and how it left.

What stands in a seal that holds is told as it is. Who made a commit, and when, is
what Git says, and nothing verifies that: it is marked, as is everything of a seal
that does not hold. Who is trusted comes from flags and from --config alone.

With --cluster-file or --kubeconfig, what a cluster has is held against what lies
under signed/, and what differs is a finding: drift.

With --at, the ledger is what it would have been at that time. A date is the end of
that day in UTC; a time is written in RFC 3339 with its zone. The trust policy is
that of today.

Table and Markdown list what is there now, or with --all what has gone, too; the
other formats list everything.

Exits 0 if a ledger was made and nothing was found that --fail-on names, 1 if
something was, 2 for an invalid command line, and 3 if the history or
the cluster could not be read, a shallow clone cut the history off, or there was
nothing to tell.`

const example = `  # what is open, and what to look at
  polex-audit --config trust.yaml

  # for the people who ask once a year
  polex-audit --config trust.yaml --report html=ledger.html --report csv=ledger.csv

  # what was open on the last day of September
  polex-audit --config trust.yaml --at 2026-09-30

  # in a schedule: is the cluster what Git says?
  kubectl get policyexceptions.kyverno.io,policyexceptions.policies.kyverno.io -A -o yaml >cluster.yaml
  polex-audit --config trust.yaml --cluster-file cluster.yaml --fail-on drift,expired`

type options struct {
	config string

	git, ref, path string
	at             string
	seen           string
	allowShallow   bool

	clusterFile, kubeconfig string
	policies                []string

	failOn  []string
	often   int
	renewed int
	all     bool

	cacheDir        string
	noCache         bool
	acceptRewritten bool

	trusted *trustflags.Flags
	given   func(flag string) bool
}

// addHistory adds the flags that say which history is read, and whose signatures count.
func (o *options) addHistory(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.given = flags.Changed
	flags.StringVar(&o.config, "config", "", "`file` with the configuration: its trust policy, its directories and its statements are used")
	o.trusted = trustflags.Add(cmd)
	o.trusted.AddKey(cmd)
	flags.StringVar(&o.git, "git", ".", "`folder` of a Git repository, with or without a work tree")
	flags.StringVar(&o.ref, "ref", "HEAD", "the `commit` that the history leads to: HEAD, a branch, a tag or a whole hash")
	flags.StringVar(&o.path, "path", ".", "`folder` of the commit in which the folders signed and unsigned lie")
}

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:                   "polex-audit [flags] | polex-audit notify [flags]",
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
	flags.StringVar(&o.at, "at", "", "tell it as of a `time`: a date (the end of that day in UTC) or an RFC 3339 time")
	flags.StringVar(&o.clusterFile, "cluster-file", "", "compare with a cluster: `file` with its exceptions, as kubectl get -A -o yaml or json writes them, or -")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "compare with a cluster: `file` that says how to reach it")
	flags.StringSliceVar(&o.policies, "policies", nil, "`paths` of the Kyverno policies, which state the severities in the report (default: directories.policies of the configuration)")
	flags.StringSliceVar(&o.failOn, "fail-on", nil, "exit with 1 for findings of these `kinds`: drift, expired, any, or the name of one; can be repeated")
	flags.IntVar(&o.often, "often", 10, "`number` of open exceptions of one policy from which it is said to need another look; 0 says it of none")
	flags.IntVar(&o.renewed, "renewed", 0, "`number` of renewals in a row from which an exception under signed/ is a finding, renewed-often; 0 makes it none")
	flags.BoolVar(&o.all, "all", false, "list removed exceptions too, in a table or Markdown")
	flags.StringVar(&o.seen, "seen", "", "`hash` of the commit that an earlier ledger ended at: a finding if the history does not lead from there (default: that of the last run here)")
	flags.BoolVar(&o.acceptRewritten, "accept-rewritten", false, "go on from here where the history was rewritten since the last run, and say nothing of it again")
	flags.BoolVar(&o.allowShallow, "allow-shallow", false, "let a clone pass that does not have all of the history")
	flags.StringVar(&o.cacheDir, "cache-dir", "", "`folder` of the cache (default: polex in the user's cache folder)")
	flags.BoolVar(&o.noCache, "no-cache", false, "remember nothing, and use nothing that is remembered")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r := &run{options: o, streams: streams, format: format}
		if err := r.prepare(); err != nil {
			return err
		}
		return r.audit(cmd.Context())
	}
	return cmd
}
