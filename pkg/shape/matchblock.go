package shape

import (
	"github.com/polex-dev/polex/pkg/shape/internal/manifest"
	"github.com/polex-dev/polex/pkg/shape/internal/wildcard"
)

// matchBlock is a kyverno.io exception's match, read to be held against
// resources as Kyverno 1.19 does (pkg/engine/utils/exceptions.go): with any,
// one filter must take the resource and all is not looked at; with all alone,
// every filter must; with neither, nothing is taken.
type matchBlock struct {
	any, all []matchFilter
}

// matchFilter is one filter. Each thing that it says must hold, and one text of
// each list.
type matchFilter struct {
	kinds                       []manifest.KindSelector
	name                        string
	names, namespaces           []string
	annotations                 map[string]string
	selector, namespaceSelector *labelSelector
	users                       bool // roles, clusterRoles or subjects
	empty                       bool
}

func readMatch(value any) matchBlock {
	tree, _ := value.(map[string]any)
	return matchBlock{any: readMatchFilters(tree["any"]), all: readMatchFilters(tree["all"])}
}

func readMatchFilters(value any) []matchFilter {
	items, _ := value.([]any)
	filters := make([]matchFilter, 0, len(items))
	for _, item := range items {
		tree, _ := item.(map[string]any)
		resources, _ := tree["resources"].(map[string]any)
		f := matchFilter{
			names: manifest.Words(resources["names"]), namespaces: manifest.Words(resources["namespaces"]), annotations: manifest.StringMap(resources["annotations"]),
			selector: readSelector(resources["selector"]), namespaceSelector: readSelector(resources["namespaceSelector"]),
		}
		f.name, _ = resources["name"].(string)
		for _, kind := range manifest.Words(resources["kinds"]) {
			f.kinds = append(f.kinds, manifest.ParseKind(kind))
		}
		for _, field := range []string{"roles", "clusterRoles", "subjects"} {
			list, _ := tree[field].([]any)
			f.users = f.users || len(list) > 0
		}
		operations, _ := resources["operations"].([]any)
		f.empty = !f.users && len(f.kinds) == 0 && f.name == "" && len(f.names) == 0 && len(f.namespaces) == 0 && len(f.annotations) == 0 &&
			f.selector == nil && f.namespaceSelector == nil && len(operations) == 0
		filters = append(filters, f)
	}
	return filters
}

// filters returns the filters that count.
func (b matchBlock) filters() []matchFilter {
	if len(b.any) > 0 {
		return b.any
	}
	return b.all
}

// takes reports whether the match takes a resource. What a file cannot say
// counts as matching: who sends the request, and a namespace that is not
// written.
func (b matchBlock) takes(work *wildcard.Meter, r *resource) bool {
	if len(b.any) > 0 {
		for i := range b.any {
			if work.Spent() {
				return false
			}
			if b.any[i].takes(work, r) {
				return true
			}
		}
		return false
	}
	for i := range b.all {
		if !b.all[i].takes(work, r) {
			return false
		}
	}
	return len(b.all) > 0 && !work.Spent()
}

func (f *matchFilter) takes(work *wildcard.Meter, r *resource) bool {
	if f.empty || len(f.kinds) > 0 && !f.takesKind(work, r) ||
		f.name != "" && !work.Fits(f.name, r.id.Name) ||
		len(f.names) > 0 && !work.FitsAny(f.names, r.id.Name) {
		return false
	}
	if namespace, known := r.inNamespace(); known && len(f.namespaces) > 0 && !work.FitsAny(f.namespaces, namespace) {
		return false
	}
	for key, value := range f.annotations {
		if !hasPair(work, key, value, r.annotations) {
			return false
		}
	}
	if f.selector != nil && !f.selector.matches(work, r.labels) {
		return false
	}
	return f.namespaceSelector == nil || r.id.Kind == "Namespace" || r.namespaceMatches(work, f.namespaceSelector)
}

func (f *matchFilter) takesKind(work *wildcard.Meter, r *resource) bool {
	for _, k := range f.kinds {
		if k.Takes(work, r.id.Group, r.version, r.id.Kind) {
			return true
		}
	}
	return false
}
