package rules

import (
	"slices"
	"strings"

	admission "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Request is a request that the API server admits.
type Request struct {
	Operation admission.OperationType
	// Resource is the resource of the request; an empty version stands for all versions. With
	// matchPolicy Equivalent, the API server also matches a rule for another served version.
	Resource    schema.GroupVersionResource
	Subresource string // "": the resource itself
	Namespaced  bool   // the object is in a namespace
}

// Match reports whether one of the rules matches a request. It does not know selectors, conditions
// and names of objects, which can only exclude requests.
// Source: k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules, which test/e2e/celpeer runs.
func Match(rules []admission.RuleWithOperations, r Request) bool {
	return slices.ContainsFunc(rules, func(rule admission.RuleWithOperations) bool {
		return includes(rule.Operations, r.Operation) && r.in(rule.Rule)
	})
}

func (r Request) in(rule admission.Rule) bool {
	if !includes(rule.APIGroups, r.Resource.Group) ||
		r.Resource.Version != "" && !includes(rule.APIVersions, r.Resource.Version) {
		return false
	}
	if rule.Scope != nil && *rule.Scope != admission.AllScopes &&
		(*rule.Scope == admission.NamespacedScope) != r.Namespaced {
		return false
	}
	return slices.ContainsFunc(rule.Resources, r.named)
}

// named reports whether an entry of resources matches. The entry policyexceptions/* matches the
// subresources and the resource itself.
func (r Request) named(entry string) bool {
	resource, subresource, _ := strings.Cut(entry, "/")
	return (resource == "*" || resource == r.Resource.Resource) && (subresource == "*" || subresource == r.Subresource)
}

// includes reports whether a list has a value or the wildcard.
func includes[T ~string](list []T, value T) bool {
	return slices.Contains(list, "*") || slices.Contains(list, value)
}
