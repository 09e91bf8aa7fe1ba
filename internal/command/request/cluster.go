package request

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/polex-dev/polex/internal/apiserver"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// clusterFlags say which cluster is asked.
type clusterFlags struct {
	on                  bool
	kubeconfig, context string
}

func (c *clusterFlags) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&c.on, "cluster", false, "read reports, policies and resources of a cluster")
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "`file` that says how to reach it (default: as kubectl finds it)")
	flags.StringVar(&c.context, "context", "", "`name` of the context in it (default: the current one)")
}

func (c *clusterFlags) check() error {
	if !c.on && (c.kubeconfig != "" || c.context != "") {
		return cli.Usagef("--kubeconfig and --context go with --cluster")
	}
	return nil
}

// reportLists are where a cluster has reports; not every cluster has all of them.
var reportLists = []list{
	{apiVersion: "wgpolicyk8s.io/v1alpha2", plural: "policyreports", namespaced: true}, {apiVersion: "wgpolicyk8s.io/v1alpha2", plural: "clusterpolicyreports"},
	{apiVersion: "openreports.io/v1alpha1", plural: "reports", namespaced: true}, {apiVersion: "openreports.io/v1alpha1", plural: "clusterreports"},
}

// policyLists are where it has policies.
var policyLists = []list{
	{apiVersion: "kyverno.io/v1", plural: "clusterpolicies"}, {apiVersion: "kyverno.io/v1", plural: "policies", namespaced: true},
	{apiVersion: "policies.kyverno.io/v1", plural: "validatingpolicies"}, {apiVersion: "policies.kyverno.io/v1", plural: "namespacedvalidatingpolicies", namespaced: true},
	{apiVersion: "policies.kyverno.io/v1", plural: "imagevalidatingpolicies"}, {apiVersion: "policies.kyverno.io/v1", plural: "namespacedimagevalidatingpolicies", namespaced: true},
	{apiVersion: "policies.kyverno.io/v1", plural: "mutatingpolicies"}, {apiVersion: "policies.kyverno.io/v1", plural: "namespacedmutatingpolicies", namespaced: true},
	{apiVersion: "policies.kyverno.io/v1", plural: "generatingpolicies"}, {apiVersion: "policies.kyverno.io/v1", plural: "namespacedgeneratingpolicies", namespaced: true},
	{apiVersion: "policies.kyverno.io/v1", plural: "deletingpolicies"}, {apiVersion: "policies.kyverno.io/v1", plural: "namespaceddeletingpolicies", namespaced: true},
}

// workloadLists are the controllers of Pods, what they make, and Pods.
var workloadLists = []list{
	{apiVersion: "apps/v1", plural: "deployments", namespaced: true}, {apiVersion: "apps/v1", plural: "replicasets", namespaced: true}, {apiVersion: "apps/v1", plural: "statefulsets", namespaced: true}, {apiVersion: "apps/v1", plural: "daemonsets", namespaced: true},
	{apiVersion: "batch/v1", plural: "cronjobs", namespaced: true}, {apiVersion: "batch/v1", plural: "jobs", namespaced: true}, {apiVersion: "v1", plural: "replicationcontrollers", namespaced: true}, {apiVersion: "v1", plural: "pods", namespaced: true},
}

// fromCluster reads the violations in the reports of a cluster, and its policies
// where no path says where they are.
func (r *run) fromCluster(ctx context.Context) ([]request.Violation, error) {
	server, err := r.server()
	if err != nil {
		return nil, err
	}
	var found []request.Violation
	there := 0
	for _, of := range reportLists {
		served, err := each(ctx, server, of.in(r.options.choice.in), func(doc *exception.Document) error {
			report, problem := request.FromReport(doc)
			if problem != nil {
				return errors.New(problem.Message)
			}
			r.foreign += report.Foreign
			if found = append(found, slices.DeleteFunc(report.Violations, func(v request.Violation) bool { return !r.options.choice.takes(v) })...); len(found) > request.MaxViolations {
				return cli.Hint(fmt.Errorf("there are more than %d violations", request.MaxViolations), "name a namespace or a policy: --in, --policy")
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if served {
			there++
		}
	}
	if there == 0 {
		return nil, cli.Hint(errors.New("the cluster has no reports of policies"), "Kyverno's reports controller makes them; without it, use --from denial")
	}
	if r.config.Policies == nil {
		if r.config.Policies, err = clusterPolicies(ctx, server); err != nil {
			return nil, err
		}
	}
	return found, r.readWorkloads(ctx, server, found)
}

func clusterPolicies(ctx context.Context, server *apiserver.Server) (*shape.PolicySet, error) {
	var docs []*exception.Document
	for _, of := range policyLists {
		if _, err := each(ctx, server, of.in(""), func(doc *exception.Document) error {
			docs = append(docs, doc)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return shape.ReadPolicies(docs), nil
}

// readWorkloads reads the workloads of the namespaces that violations are in: whose
// Pods they are, and what would be exempt now.
func (r *run) readWorkloads(ctx context.Context, server *apiserver.Server, found []request.Violation) error {
	met := map[string]bool{"": true}
	for _, v := range found {
		namespace := v.Resource.Namespace
		if met[namespace] {
			continue
		}
		met[namespace] = true
		for _, of := range workloadLists {
			if _, err := each(ctx, server, of.in(namespace), func(doc *exception.Document) error {
				if r.objects = append(r.objects, doc); len(r.objects) > mostObjects {
					return cli.Hint(fmt.Errorf("there are more than %d workloads", mostObjects), "name a namespace: --in")
				}
				return nil
			}); err != nil {
				return err
			}
		}
	}
	r.config.Resources = shape.ReadResources(r.objects)
	return nil
}

// mostObjects bounds what is kept in memory of a cluster.
const mostObjects = 20_000

// unreachable says that the cluster could not be asked.
func unreachable(err error) error {
	return cli.Hint(err, "does kubectl reach it, with the same --kubeconfig and --context?")
}
