package match

import (
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/shape/internal/manifest"
)

// Block is a kyverno.io exception's match, read to be held against
// resources as Kyverno 1.19 does (pkg/engine/utils/exceptions.go): with any,
// one filter must take the resource and all is not looked at; with all alone,
// every filter must; with neither, nothing is taken.
type Block struct {
	Any, All []Filter
}

// Filter is one filter. Each thing that it says must hold, and one text of
// each list.
type Filter struct {
	Kinds                       []kyverno.KindSelector
	Name                        string
	Names, Namespaces           []string
	Annotations                 map[string]string
	Selector, NamespaceSelector *LabelSelector
	Users                       bool // roles, clusterRoles or subjects
	Empty                       bool
}

// Read reads the match of an exception.
func Read(value any) Block {
	tree, _ := value.(map[string]any)
	return Block{Any: readMatchFilters(tree["any"]), All: readMatchFilters(tree["all"])}
}

func readMatchFilters(value any) []Filter {
	items, _ := value.([]any)
	filters := make([]Filter, 0, len(items))
	for _, item := range items {
		tree, _ := item.(map[string]any)
		resources, _ := tree["resources"].(map[string]any)
		f := Filter{
			Names: manifest.Words(resources["names"]), Namespaces: manifest.Words(resources["namespaces"]), Annotations: manifest.StringMap(resources["annotations"]),
			Selector: readSelector(resources["selector"]), NamespaceSelector: readSelector(resources["namespaceSelector"]),
		}
		f.Name, _ = resources["name"].(string)
		for _, kind := range manifest.Words(resources["kinds"]) {
			f.Kinds = append(f.Kinds, kyverno.ParseKind(kind))
		}
		for _, field := range []string{"roles", "clusterRoles", "subjects"} {
			list, _ := tree[field].([]any)
			f.Users = f.Users || len(list) > 0
		}
		operations, _ := resources["operations"].([]any)
		f.Empty = !f.Users && len(f.Kinds) == 0 && f.Name == "" && len(f.Names) == 0 && len(f.Namespaces) == 0 && len(f.Annotations) == 0 &&
			f.Selector == nil && f.NamespaceSelector == nil && len(operations) == 0
		filters = append(filters, f)
	}
	return filters
}

// filters returns the filters that count.
func (b Block) filters() []Filter {
	if len(b.Any) > 0 {
		return b.Any
	}
	return b.All
}

// takes reports whether the match takes a resource. What a file cannot say
// counts as matching: who sends the request, and a namespace that is not
// written.
func (b Block) takes(work *wildcard.Meter, r *Resource) bool {
	if len(b.Any) > 0 {
		for i := range b.Any {
			if work.Spent() {
				return false
			}
			if b.Any[i].takes(work, r) {
				return true
			}
		}
		return false
	}
	for i := range b.All {
		if !b.All[i].takes(work, r) {
			return false
		}
	}
	return len(b.All) > 0 && !work.Spent()
}

func (f *Filter) takes(work *wildcard.Meter, r *Resource) bool {
	if f.Empty || len(f.Kinds) > 0 && !f.takesKind(work, r) ||
		f.Name != "" && !work.Fits(f.Name, r.Id.Name) ||
		len(f.Names) > 0 && !work.FitsAny(f.Names, r.Id.Name) {
		return false
	}
	if namespace, known := r.inNamespace(); known && len(f.Namespaces) > 0 && !work.FitsAny(f.Namespaces, namespace) {
		return false
	}
	for key, value := range f.Annotations {
		if !hasPair(work, key, value, r.annotations) {
			return false
		}
	}
	if f.Selector != nil && !f.Selector.matches(work, r.labels) {
		return false
	}
	return f.NamespaceSelector == nil || r.Id.Kind == "Namespace" || r.namespaceMatches(work, f.NamespaceSelector)
}

func (f *Filter) takesKind(work *wildcard.Meter, r *Resource) bool {
	for _, k := range f.Kinds {
		if k.Takes(work, r.Id.Group, r.Version, r.Id.Kind) {
			return true
		}
	}
	return false
}

// Alternatives returns sets of filters. A resource that all of one set take is
// taken.
func (b Block) Alternatives() [][]*Filter {
	var sets [][]*Filter
	for i := range b.Any {
		sets = append(sets, []*Filter{&b.Any[i]})
	}
	if len(sets) > 0 || len(b.All) == 0 {
		return sets
	}
	var all []*Filter
	for i := range b.All {
		all = append(all, &b.All[i])
	}
	return [][]*Filter{all}
}
