package doctor

import (
	"context"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/polex-dev/polex/internal/guard/cluster"
)

// need is a permission that the guard requires.
type need struct {
	group, resource, namespace, name string
	verbs                            []string
}

// leaseName and reportName are the names of the Lease and of the reports. A role may be limited to
// these names. guardUser is the user of a guard outside of the cluster.
const leaseName, reportName, guardUser = "polex-guard", "polex-guard", "polex-guard"

// needs returns the permissions that every guard requires, except those for the guarded kinds.
func (k *checkup) needs() []need {
	const webhooks = "validatingwebhookconfigurations"
	needs := []need{
		{"authorization.k8s.io", "subjectaccessreviews", "", "", []string{"create"}},
		{"coordination.k8s.io", "leases", k.Namespace, "", []string{"create"}},
		{"coordination.k8s.io", "leases", k.Namespace, leaseName, []string{"get", "update"}},
		{"events.k8s.io", "events", "", "", []string{"create", "patch"}},
		{"openreports.io", "reports", "", "", []string{"list", "create"}},
		{"openreports.io", "reports", "", reportName, []string{"get", "update", "delete"}},
		{"wgpolicyk8s.io", "policyreports", "", "", []string{"list", "create"}},
		{"wgpolicyk8s.io", "policyreports", "", reportName, []string{"get", "update", "delete"}},
	}
	if k.SelfManaged == "" {
		return needs
	}
	return append(needs,
		need{"", "secrets", k.Namespace, "", []string{"list", "watch"}},
		need{"", "secrets", k.Namespace, k.SelfManaged, []string{"update"}},
		need{"admissionregistration.k8s.io", webhooks, "", "", []string{"list", "watch"}},
		need{"admissionregistration.k8s.io", webhooks, "", k.Webhook, []string{"update"}},
	)
}

// permissions asks the API server for the permissions of the current user. Run it as the
// ServiceAccount of the guard.
func (k *checkup) permissions(ctx context.Context) {
	needs := k.needs()
	for _, gk := range k.Kinds {
		mapping, err := k.Client.RESTMapper().RESTMapping(schema.GroupKind(gk))
		if err != nil {
			if !meta.IsNoMatchError(err) {
				k.unknown(gk.String(), err)
			}
			continue
		}
		verbs := []string{"get", "list", "watch"}
		needs = append(needs, need{gk.Group, mapping.Resource.Resource, "", "", append(verbs, "delete")})
		if gk.IsException() {
			name := cluster.DefinitionName(gk.Group)
			needs = append(needs, need{cluster.DefinitionKind.Group, "customresourcedefinitions", "", name, verbs})
		}
	}
	defer k.unlessFound("permissions", "it may watch, delete expired exceptions, and write Events")()
	for _, n := range needs {
		lacking, err := k.lacking(ctx, n, "")
		if !k.known("permissions", err) {
			return
		}
		if len(lacking) > 0 {
			what := schema.GroupResource{Group: n.group, Resource: n.resource}
			k.report("permissions", "not-permitted", "it may not %s %s", strings.Join(lacking, ", "), what)
		}
	}
}

// lacking returns the verbs of a need that are not permitted to a ServiceAccount of Kyverno, or to the
// current user for "".
func (k *checkup) lacking(ctx context.Context, n need, account string) (lacking []string, err error) {
	for _, verb := range n.verbs {
		request := &authorizationv1.ResourceAttributes{
			Group: n.group, Resource: n.resource, Namespace: n.namespace, Name: n.name, Verb: verb,
		}
		self, other := &authorizationv1.SelfSubjectAccessReview{}, &authorizationv1.SubjectAccessReview{}
		review, status := client.Object(self), &self.Status
		self.Spec.ResourceAttributes, other.Spec.ResourceAttributes = request, request
		if account != "" {
			other.Spec.User = "system:serviceaccount:" + k.Kyverno + ":" + account
			const accounts = "system:serviceaccounts"
			other.Spec.Groups = []string{"system:authenticated", accounts, accounts + ":" + k.Kyverno}
			review, status = other, &other.Status
		}
		if err := k.Client.Create(ctx, review); err != nil {
			return nil, err
		}
		if !status.Allowed {
			lacking = append(lacking, verb)
		}
	}
	return lacking, nil
}
