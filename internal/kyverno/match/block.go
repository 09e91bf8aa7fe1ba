package match

import (
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// Block is a kyverno.io exception's match, read to be held against
// resources as Kyverno 1.19 does (pkg/engine/utils/exceptions.go): with any,
// one filter must take the resource and all is not looked at; with all alone,
// every filter must; with neither, nothing is taken.
type Block struct {
	Any, All []Filter
}

// Filter is what a filter says, without the places, for thousands may be kept.
type Filter struct {
	Kinds                       []kyverno.KindSelector
	Name                        string
	Names, Namespaces           []string
	Annotations                 map[string]string
	Selector, NamespaceSelector *LabelSelector
	Users                       bool // roles, clusterRoles or subjects
	Empty                       bool
}

// NamesAsked returns the names of which a resource has one: name, or else names.
func (f *Filter) NamesAsked() []string {
	if f.Name != "" {
		return []string{f.Name}
	}
	return f.Names
}

// BlockOf returns a match to be held against resources.
func BlockOf(m kyverno.Match) Block { return Block{filtersOf(m.Any), filtersOf(m.All)} }

func filtersOf(all []kyverno.Filter) []Filter {
	filters := make([]Filter, len(all))
	for i := range all {
		of := &all[i]
		f := Filter{
			Name: of.Name.Text, Names: kyverno.Texts(of.Names), Namespaces: kyverno.Texts(of.Namespaces), Annotations: of.Annotations,
			Selector: selectorOf(of.Selector), NamespaceSelector: selectorOf(of.NamespaceSelector), Users: of.OfSenders(), Empty: of.Empty(),
		}
		for _, kind := range of.Kinds {
			f.Kinds = append(f.Kinds, kyverno.ParseKind(kind.Text))
		}
		filters[i] = f
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
