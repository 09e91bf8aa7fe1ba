package match

import (
	"slices"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// Block is the match of a kyverno.io exception. Kyverno 1.19 evaluates it like this
// (pkg/engine/utils/exceptions.go). With any, one filter has to match, and all is ignored. With
// only all, every filter has to match. With neither, nothing matches.
type Block struct {
	Any, All []Filter
}

// Filter is a filter without paths, because thousands may be in memory.
type Filter struct {
	Kinds                       []kyverno.KindSelector
	Name                        string
	Names, Namespaces           []string
	Annotations                 map[string]string
	Selector, NamespaceSelector *LabelSelector
	Users                       bool // roles, clusterRoles or subjects
	Empty                       bool
	OfConditions                bool // for conditions, a Namespace is in no namespace
}

// NamesAsked returns the names of which a resource needs one: name if present, else names.
func (f *Filter) NamesAsked() []string {
	if f.Name != "" {
		return []string{f.Name}
	}
	return f.Names
}

// BlockOf converts a match.
func BlockOf(m kyverno.Match) Block { return Block{filtersOf(m.Any), filtersOf(m.All)} }

func filtersOf(all []kyverno.Filter) []Filter {
	filters := make([]Filter, len(all))
	for i := range all {
		of := &all[i]
		f := Filter{
			Name: of.Name.Text, Names: kyverno.Texts(of.Names), Namespaces: kyverno.Texts(of.Namespaces),
			Annotations: of.Annotations,
			Selector:    selectorOf(of.Selector), NamespaceSelector: selectorOf(of.NamespaceSelector),
			Users: of.OfSenders(), Empty: of.Empty(),
		}
		for _, kind := range of.Kinds {
			f.Kinds = append(f.Kinds, kyverno.ParseKind(kind.Text))
		}
		filters[i] = f
	}
	return filters
}

// filters returns the filters that Kyverno evaluates.
func (b Block) filters() []Filter {
	if len(b.Any) > 0 {
		return b.Any
	}
	return b.All
}

// takes reports whether the match selects a resource. Facts that a file does not contain count as
// matching: the sender of the request, and a namespace that is not written.
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
	namespace, known := r.inNamespace()
	if f.OfConditions {
		namespace, known = r.Id.Namespace, r.Id.Namespace != "" || r.clusterScoped
	}
	if known && len(f.Namespaces) > 0 && !work.FitsAny(f.Namespaces, namespace) {
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
	return slices.ContainsFunc(f.Kinds, func(k kyverno.KindSelector) bool {
		return k.Takes(work, r.Id.Group, r.Version, r.Id.Kind)
	})
}

// Alternatives returns sets of filters. The block matches a resource that all filters of one set
// match.
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
