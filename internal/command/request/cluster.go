package request

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/polex-dev/polex/internal/apiserver"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/clusterread"
	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// clusterFlags say which cluster is asked.
type clusterFlags struct{ kubeconfig, context string }

func (c *clusterFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig `file` (default: that of kubectl)")
	flags.StringVar(&c.context, "context", "", "context of the kubeconfig (default: the current one)")
}

// reports returns the collections of reports. Cluster reports have no namespace.
func reports(namespace string) (all []collection) {
	for _, of := range clusterread.Reports {
		if strings.HasPrefix(of.Resource, "cluster") {
			all = append(all, collection{of, ""})
		} else {
			all = append(all, collection{of, namespace})
		}
	}
	return all
}

// policies returns the collections of policies.
func policies() []collection {
	return slices.Concat(
		collections("", "kyverno.io/v1", "clusterpolicies policies"),
		collections("", "policies.kyverno.io/v1", `validatingpolicies namespacedvalidatingpolicies
			imagevalidatingpolicies namespacedimagevalidatingpolicies mutatingpolicies namespacedmutatingpolicies
			generatingpolicies namespacedgeneratingpolicies deletingpolicies namespaceddeletingpolicies`))
}

// workloads returns the collections of Pods and their controllers in a namespace.
func workloads(namespace string) []collection {
	return slices.Concat(
		collections(namespace, "apps/v1", "deployments replicasets statefulsets daemonsets"),
		collections(namespace, "batch/v1", "cronjobs jobs"),
		collections(namespace, "v1", "replicationcontrollers pods"))
}

// fromCluster reads the violations in the reports of a cluster. It also reads the policies, if no
// path is given for them.
func (r *run) fromCluster(ctx context.Context) ([]request.Violation, error) {
	server, err := apiserver.Open(r.options.cluster.kubeconfig, r.options.cluster.context)
	if err != nil {
		return nil, &cli.UsageError{Err: err, Hint: "name it with --kubeconfig, and its context with --context"}
	}
	var violations []request.Violation
	anyServed := false
	for _, of := range reports(r.options.choice.Namespace) {
		served, err := each(ctx, server, of, func(doc *exception.Document) error {
			report, problem := request.FromReport(doc)
			if problem != nil {
				return errors.New(problem.Message)
			}
			r.foreign += report.Foreign
			for _, v := range report.Violations {
				if r.options.choice.Selects(v) {
					violations = append(violations, v)
				}
			}
			if len(violations) > request.MaxViolations {
				return cli.Hint(fmt.Errorf("there are more than %d violations", request.MaxViolations),
					"name a namespace or a policy: --namespace, --policy")
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		anyServed = anyServed || served
	}
	if !anyServed {
		return nil, cli.Hint(errors.New("the cluster has no policy reports"),
			"Kyverno's reports controller makes them; without it, use --from denial")
	}
	if r.config.Policies == nil {
		if r.config.Policies, err = clusterPolicies(ctx, server); err != nil {
			return nil, err
		}
	}
	return violations, r.readWorkloads(ctx, server, violations)
}

func clusterPolicies(ctx context.Context, server *apiserver.Server) (*shape.PolicySet, error) {
	var docs []*exception.Document
	for _, of := range policies() {
		if _, err := each(ctx, server, of, func(doc *exception.Document) error {
			docs = append(docs, doc)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return shape.ReadPolicies(docs), nil
}

// readWorkloads reads the workloads in the namespaces of the violations. They show the owners of
// Pods and the resources that a draft would exempt.
func (r *run) readWorkloads(ctx context.Context, server *apiserver.Server, violations []request.Violation) error {
	seen := map[string]bool{"": true}
	for _, v := range violations {
		namespace := v.Resource.Namespace
		if seen[namespace] {
			continue
		}
		seen[namespace] = true
		for _, of := range workloads(namespace) {
			if _, err := each(ctx, server, of, func(doc *exception.Document) error {
				if r.objects = append(r.objects, doc); len(r.objects) > mostObjects {
					return cli.Hint(fmt.Errorf("there are more than %d workloads", mostObjects),
						"name a namespace: --namespace")
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

// mostObjects is the maximum number of cluster objects in memory.
const mostObjects = 20_000

// collection is a collection of objects in one namespace or in all.
type collection struct {
	schema.GroupVersionResource
	namespace string // "" means all
}

// collections makes collections from the plural names of an API version.
func collections(namespace, groupVersion, plurals string) []collection {
	var all []collection
	version, _ := schema.ParseGroupVersion(groupVersion) // the version is a constant of this package
	for plural := range strings.FieldsSeq(plurals) {
		all = append(all, collection{version.WithResource(plural), namespace})
	}
	return all
}

// each calls visit for every object of a collection. It returns false if the server does not serve
// the collection.
func each(ctx context.Context, s *apiserver.Server, of collection,
	visit func(*exception.Document) error) (served bool, err error) {
	var failed error
	served, err = s.Each(ctx, of.GroupVersionResource, of.namespace, func(object *unstructured.Unstructured) error {
		object.SetManagedFields(nil)
		var doc *exception.Document
		if doc, failed = exception.FromObject(object.Object); failed == nil {
			failed = visit(doc)
		}
		return failed
	})
	switch name := of.GroupResource(); {
	case err == nil:
		return served, nil
	case failed != nil:
		return served, fmt.Errorf("read %s: %w", name, failed)
	case apierrors.IsForbidden(err):
		return served, cli.Hint(fmt.Errorf("read %s: the API server forbids it", name),
			"it requires the permission list on reports, policies and workloads: docs/how-to/request.md names them")
	default:
		return served, cli.Hint(fmt.Errorf("read %s: %w", name, err),
			"does kubectl reach it, with the same --kubeconfig and --context?")
	}
}
