package request

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Selection selects violations. An empty field selects all.
type Selection struct {
	Policy, Rule, Namespace string
	Resource                Resource
}

// Selects reports whether the selection has a violation.
func (s Selection) Selects(v Violation) bool {
	r, want := v.Resource, s.Resource
	switch {
	case s.Policy != "" && s.Policy != v.Policy, s.Rule != "" && s.Rule != v.Rule:
		return false
	case s.Namespace != "" && s.Namespace != r.Namespace:
		return false
	case want == Resource{}:
		return true
	case want.APIVersion != "" && r.APIVersion != "" && groupOf(want) != groupOf(r):
		return false
	}
	return want.Kind == r.Kind && want.Namespace == r.Namespace && want.Name == r.Name
}

func groupOf(r Resource) string { return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).Group }

var resourceForm = regexp.MustCompile(`^([A-Z][A-Za-z0-9]*)((?:\.[a-z0-9-]+)*)/(?:([a-z0-9-]+)/)?([A-Za-z0-9.:_-]+)$`)

// ParseResource parses KIND[.GROUP]/[NAMESPACE/]NAME. The version of the API group does not matter,
// because an exception applies to all versions.
func ParseResource(text string) (Resource, error) {
	parts := resourceForm.FindStringSubmatch(text)
	if parts == nil {
		return Resource{}, fmt.Errorf("%q is not written as KIND[.GROUP]/[NAMESPACE/]NAME", text)
	}
	r := Resource{Kind: parts[1], Namespace: parts[3], Name: parts[4]}
	if parts[2] != "" {
		r.APIVersion = strings.TrimPrefix(parts[2], ".") + "/v1"
	}
	return r, nil
}
