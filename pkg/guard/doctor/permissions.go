package doctor

import (
	"context"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// permissions asks the API server whether whoever runs this may do what the guard
// has to: run it as the guard's ServiceAccount.
func (k *checkup) permissions(ctx context.Context) {
	type need struct {
		group, resource, namespace string
		verbs                      []string
	}
	needs := []need{
		{"coordination.k8s.io", "leases", k.Namespace, []string{"get", "create", "update"}},
		{"events.k8s.io", "events", "", []string{"create", "patch"}},
		{"wgpolicyk8s.io", "policyreports", "", []string{"get", "list", "create", "update", "delete"}},
	}
	for _, gk := range k.Kinds {
		mapping, err := k.Client.RESTMapper().RESTMapping(schema.GroupKind{Group: gk.Group, Kind: gk.Kind})
		if err != nil {
			if !meta.IsNoMatchError(err) {
				k.unknown(gk.String(), err)
			}
			continue
		}
		needs = append(needs, need{gk.Group, mapping.Resource.Resource, "", []string{"get", "list", "watch", "delete"}})
	}
	before := len(k.found)
	for _, n := range needs {
		var lacking []string
		for _, verb := range n.verbs {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Group: n.group, Resource: n.resource, Namespace: n.namespace, Verb: verb},
			}}
			if err := k.Client.Create(ctx, review); err != nil {
				k.unknown("permissions", err)
				return
			}
			if !review.Status.Allowed {
				lacking = append(lacking, verb)
			}
		}
		if len(lacking) > 0 {
			k.add(Finding{Subject: "permissions", Reason: ReasonNotPermitted, Message: "it may not " + strings.Join(lacking, ", ") + " " + n.resource + "." + n.group,
				Hint: "give the guard's ServiceAccount the role of its manifests, and run this as that"})
		}
	}
	if len(k.found) == before {
		k.fine("permissions", "it may watch, delete what has expired, and say so")
	}
}
