// Package request is the command polex-request. It drafts an exception for a violation.
package request

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/shapeconfig"
	"github.com/polex-dev/polex/internal/config"
)

const help = `Draft the narrowest exception for a violation: one policy, its rules and one workload.

PATH holds policy reports, or with --from the output of kyverno apply or a denial. --from
cluster reads the cluster. Without both, --policy, --rule and --about name the violation.

Drafts go to unsigned/ in a repository with .polex.yaml, else to standard output. On a
terminal, polex-request asks for missing statements. It writes only valid drafts.

Exit codes: 0 drafted, 1 no draft for a violation, 2 invalid command line or
configuration, 3 something could not be read or there is no violation.`

const example = `  # from a report, into unsigned/
  polex-request --reason 'no probe by the vendor' --ticket SEC-12 --owner team-a --expires-in 7d report.yaml
  # from a denial
  kubectl apply -f pod.yaml 2>&1 | polex-request --from denial --policies policies/ --resources pod.yaml ... -
  # from the cluster
  polex-request --from cluster -n team-a --policy require-probes ...`

// options are the values of the flags.
type options struct {
	config    string
	from      string
	policies  []string
	resources []string
	choice    choice
	namespace string
	renew     string
	merge     bool
	say       statements
	output    string
	cluster   clusterFlags
}

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:                   "polex-request [flags] [PATH...]",
		Short:                 "Draft the narrowest exception for a violation",
		Long:                  help,
		Example:               example,
		DisableFlagsInUseLine: true,
	}
	format := cli.AddFormatFlag(cmd)
	flags := cmd.Flags()
	cli.AddConfigFlag(flags, &o.config)
	flags.StringVar(&o.from, "from", fromReport, "source of the violations: report, apply, denial or cluster")
	flags.StringSliceVar(&o.policies, "policies", nil,
		"paths of the Kyverno policies (default: directories.policies of the configuration)")
	flags.StringSliceVar(&o.resources, "resources", nil,
		"paths of manifests, for owners of Pods, images and exempted resources")
	flags.StringVar(&o.namespace, "exception-namespace", "",
		"namespace of the exceptions (default: that of shape.namespaces, or of each resource)")
	flags.StringVar(&o.renew, "renew", "", "draft the successor of a signed exception, by its name")
	flags.BoolVar(&o.merge, "merge", false,
		"write one exception for several policies of a workload, up to shape.maxPolicies")
	o.choice.addFlags(flags)
	o.say.addFlags(flags)
	flags.StringVar(&o.output, "output-file", "",
		"`file` or folder for the drafts, or - (default: unsigned/ in a repository with "+config.Name+")")
	o.cluster.addFlags(flags)
	shapeconfig.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		if err := o.check(paths); err != nil {
			return err
		}
		r, err := o.load(cmd, streams, format)
		if err != nil {
			return err
		}
		if o.renew != "" {
			return r.renew()
		}
		return r.request(cmd.Context(), paths)
	}
	return cmd
}

// check rejects flags that exclude each other.
func (o *options) check(paths []string) error {
	switch {
	case o.renew != "" && (len(paths) > 0 || o.from == fromCluster || o.merge || o.choice.any()):
		return cli.Usagef("--renew takes the violation from the renewed exception: " +
			"remove PATH, --from cluster, --merge and the flags of a violation")
	case o.from == fromCluster && len(paths) > 0:
		return cli.Usagef("--from cluster cannot be combined with PATH: %q", paths[0])
	case !slices.Contains([]string{fromReport, fromApply, fromDenial, fromCluster}, o.from):
		return cli.Usagef("--from %q is not report, apply, denial or cluster", o.from)
	case (o.from == fromApply || o.from == fromDenial) && len(paths) == 0:
		return cli.Usagef("--from %s requires PATH, or - for standard input", o.from)
	case o.from != fromCluster && o.cluster != clusterFlags{}:
		return cli.Usagef("--kubeconfig and --context require --from cluster")
	}
	if err := o.choice.check(); err != nil {
		return err
	}
	return o.say.check()
}
