package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/polex-dev/polex/internal/guard/cluster"
)

// definitions checks how the API server converts exceptions. A conversion webhook can change every
// version of an exception.
func (k *checkup) definitions(ctx context.Context) {
	defer k.unlessFound("customresourcedefinitions", "the API server converts exceptions itself")()
	for _, gk := range k.Kinds {
		if !gk.IsException() {
			continue
		}
		name := cluster.DefinitionName(gk.Group)
		definition := &unstructured.Unstructured{}
		definition.SetGroupVersionKind(cluster.DefinitionKind)
		err := k.Client.Get(ctx, types.NamespacedName{Name: name}, definition)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			k.unknown("customresourcedefinitions/"+name, err)
			continue
		}
		if by := cluster.Conversion(definition); by != "" {
			k.add(Finding{Subject: "customresourcedefinitions/" + name, Reason: ReasonConversion, Message: by + " can show Kyverno another exception than the signed one",
				Hint: "apply the definition of Kyverno again, with spec.conversion.strategy: None, and find out who changed it"})
		} else if _, err := k.Client.RESTMapper().RESTMapping(schema.GroupKind{Group: gk.Group, Kind: gk.Kind}); meta.IsNoMatchError(err) {
			k.unknown("customresourcedefinitions/"+name, errors.New("the API server serves none of its versions, so nobody can read these exceptions; Kyverno may still apply those that it read before"))
		}
	}
}

// apiServiceList is APIServiceList. An APIService names the server of a group and version.
var apiServiceList = schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIServiceList"}

// served checks that the API server itself serves the kinds that the guard depends on. An
// aggregated server can give each client another answer.
func (k *checkup) served(ctx context.Context) {
	const subject = "apiservices"
	items, ok := k.list(ctx, subject, apiServiceList)
	if !ok {
		return
	}
	defer k.unlessFound(subject, "the API server answers for exceptions itself")()
	for _, s := range items {
		group, _, _ := unstructured.NestedString(s.Object, "spec", "group")
		service, elsewhere, err := unstructured.NestedMap(s.Object, "spec", "service")
		if err == nil && !elsewhere || !slices.Contains(k.groups(), group) {
			continue
		}
		k.add(Finding{Subject: subject + "/" + s.GetName(), Reason: ReasonServedElsewhere,
			Message: fmt.Sprintf("the Service %v/%v answers for %s, and not the API server", service["namespace"], service["name"], group),
			Hint:    "delete it, and the API server makes its own; then find out who changed it"})
	}
}

// groups returns the API groups that the guard depends on.
func (k *checkup) groups() []string {
	groups := []string{"", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apps", "authorization.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "rbac.authorization.k8s.io"}
	for _, gk := range k.Kinds {
		groups = append(groups, gk.Group)
	}
	return groups
}

// list lists objects of a kind. A kind that is not served has none.
func (k *checkup) list(ctx context.Context, subject string, kind schema.GroupVersionKind) ([]unstructured.Unstructured, bool) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	err := k.Client.List(ctx, list)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, true
	}
	if err != nil {
		k.unknown(subject, err)
		return nil, false
	}
	return list.Items, true
}
