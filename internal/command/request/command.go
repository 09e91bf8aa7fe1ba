// Package request is the command polex-request. It drafts an exception for a violation.
package request

import (
	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/shapeconfig"
)

const help = `Draft the narrowest exception that answers a violation, to be proposed in a pull
request: for the rules of one policy and one workload, by exact names. A wildcard
stands only where a controller makes the names, and violations of one cause are one
request. Its name follows from what it exempts: to ask twice is to ask once.

PATH is a report of policies (PolicyReport, ClusterPolicyReport, Report,
ClusterReport, lists of them; a file, a folder, or - for standard input), or with
--from what "kyverno apply" printed, or what Kyverno said when it denied a request.
With --cluster, the reports, policies and resources of a cluster are read. Without
either, --policy, --rule and --about say what is violated; with them, they choose.

What the exception says of itself (--reason, --ticket, --owner, --for) is never
guessed. On a terminal it is asked for.

With --merge, drafts for the same resources become one exception from several
policies, up to shape.maxPolicies. It exempts no more than the drafts do together.

Drafts go to unsigned/ where the repository has a .polex.yaml, and to standard
output elsewhere. Each is checked as polex-validate would; one that is refused is
not written.

Exits 0 if every violation has its draft, 1 if there is none for one of them, 2 for
an invalid command line, and 3 if something could not be read or there is no
violation.`

const example = `  # from a report, into unsigned/
  polex-request --reason 'the vendor has no probe' --ticket SEC-12 --owner team-a --for 7d report.yaml

  # from what was denied just now
  kubectl apply -f pod.yaml 2>&1 | polex-request --from denial --policies policies/ --resources pod.yaml ... -

  # from what Flux was denied
  kubectl get kustomization apps -n flux-system -o json | polex-request --from denial --policies policies/ ... -

  # from the cluster, on a branch for a pull request
  polex-request --cluster --in team-a --policy require-probes --branch polex/web --push ...

  # once more, for another week
  polex-request --renew web-require-probes-1a2b3c4d5e --for 7d`

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
	output    output
	cluster   clusterFlags
}

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:                   "polex-request [flags] [PATH...]",
		Short:                 "Draft the narrowest exception that answers a violation",
		Long:                  help,
		Example:               example,
		DisableFlagsInUseLine: true,
	}
	format := cli.AddFormatFlag(cmd)
	flags := cmd.Flags()
	cli.AddConfigFlag(flags, &o.config)
	flags.StringVar(&o.from, "from", fromReport, "`what` PATH holds: report, apply or denial")
	flags.StringSliceVar(&o.policies, "policies", nil, "`paths` of the Kyverno policies, for their rules and kinds (default: directories.policies of the configuration)")
	flags.StringSliceVar(&o.resources, "resources", nil, "`paths` of manifests, to find owners of Pods, images and exempt resources")
	flags.StringVar(&o.namespace, "namespace", "", "`namespace` that the exceptions live in (default: the one that shape.namespaces names, or that of each resource)")
	flags.StringVar(&o.renew, "renew", "", "`name` of a signed exception to draft the successor of")
	flags.BoolVar(&o.merge, "merge", false, "write one exception for the policies that a workload violates, up to shape.maxPolicies")
	o.choice.addFlags(flags)
	o.say.addFlags(flags)
	o.output.addFlags(flags)
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
			return r.renew(cmd.Context())
		}
		return r.request(cmd.Context(), paths)
	}
	return cmd
}

// check rejects flags that exclude each other.
func (o *options) check(paths []string) error {
	switch {
	case o.renew != "" && (len(paths) > 0 || o.cluster.on || o.merge || o.choice.any()):
		return cli.Usagef("--renew takes the violation from the renewed exception: remove PATH, --cluster, --merge and the flags of a violation")
	case o.cluster.on && len(paths) > 0:
		return cli.Usagef("--cluster reads the reports of the cluster, and %q is given as well", paths[0])
	case o.from != fromReport && o.from != fromApply && o.from != fromDenial:
		return cli.Usagef("--from is %s, %s or %s, and not %q", fromReport, fromApply, fromDenial, o.from)
	case o.from != fromReport && len(paths) == 0:
		return cli.Usagef("--from requires PATH")
	}
	if err := o.cluster.check(); err != nil {
		return err
	}
	if err := o.choice.check(); err != nil {
		return err
	}
	if err := o.say.check(); err != nil {
		return err
	}
	return o.output.check()
}
