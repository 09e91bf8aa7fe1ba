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

// The collections of policies, and of Pods and their controllers.
var (
	policies = slices.Concat(
		collections("kyverno.io/v1", "clusterpolicies policies"),
		collections("policies.kyverno.io/v1", `validatingpolicies namespacedvalidatingpolicies
			imagevalidatingpolicies namespacedimagevalidatingpolicies mutatingpolicies namespacedmutatingpolicies
			generatingpolicies namespacedgeneratingpolicies deletingpolicies namespaceddeletingpolicies`))
	workloads = slices.Concat(
		collections("apps/v1", "deployments replicasets statefulsets daemonsets"),
		collections("batch/v1", "cronjobs jobs"),
		collections("v1", "replicationcontrollers pods"))
)

// collections returns the collections of an API version with these plural names.
func collections(groupVersion, plurals string) (all []schema.GroupVersionResource) {
	version, _ := schema.ParseGroupVersion(groupVersion) // the version is a constant of this package
	for plural := range strings.FieldsSeq(plurals) {
		all = append(all, version.WithResource(plural))
	}
	return all
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
	for _, of := range clusterread.Reports {
		namespace := r.options.choice.Namespace
		if strings.HasPrefix(of.Resource, "cluster") {
			namespace = "" // a cluster report has none
		}
		served, err := each(ctx, server, of, namespace, func(doc *exception.Document) error {
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
		docs, err := all(ctx, server, policies, "", nil)
		if err != nil {
			return nil, err
		}
		r.config.Policies = shape.ReadPolicies(docs)
	}
	return violations, r.readWorkloads(ctx, server, violations)
}

// all adds the objects of collections to docs.
func all(ctx context.Context, server *apiserver.Server, of []schema.GroupVersionResource, namespace string,
	docs []*exception.Document) ([]*exception.Document, error) {
	for _, one := range of {
		if _, err := each(ctx, server, one, namespace, func(doc *exception.Document) error {
			if docs = append(docs, doc); len(docs) > mostObjects {
				return cli.Hint(fmt.Errorf("there are more than %d objects", mostObjects),
					"name a namespace: --namespace")
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

// readWorkloads reads the workloads in the namespaces of the violations. They show the owners of
// Pods and the resources that a draft would exempt.
func (r *run) readWorkloads(ctx context.Context, server *apiserver.Server,
	violations []request.Violation) (err error) {
	seen := map[string]bool{"": true}
	for _, v := range violations {
		namespace := v.Resource.Namespace
		if seen[namespace] {
			continue
		}
		seen[namespace] = true
		if r.objects, err = all(ctx, server, workloads, namespace, r.objects); err != nil {
			return err
		}
	}
	r.config.Resources = shape.ReadResources(r.objects)
	return nil
}

// mostObjects is the maximum number of cluster objects in memory.
const mostObjects = 20_000

// each calls visit for every object of a collection. It returns false if the server does not serve
// the collection.
func each(ctx context.Context, s *apiserver.Server, of schema.GroupVersionResource, namespace string,
	visit func(*exception.Document) error) (served bool, err error) {
	var failed error
	served, err = s.Each(ctx, of, namespace, func(object *unstructured.Unstructured) error {
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
