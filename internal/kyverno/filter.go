package kyverno

import (
	"slices"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Match says which resources are meant: the match of a kyverno.io exception, and the
// match or exclude of a rule. Each filter of Any is enough by itself, those of All must
// all match.
type Match struct {
	Any, All []Filter
	// Plain is the old form in a rule, without any or all; nil elsewhere.
	Plain *Filter
}

// Filters returns all of them: any, all, and the old form.
func (m Match) Filters() []Filter {
	all := slices.Concat(m.Any, m.All)
	if m.Plain != nil {
		all = append(all, *m.Plain)
	}
	return all
}

// Filter is one filter. Each thing that it says must hold, and one text of each list.
type Filter struct {
	Path         exception.Path
	HasResources bool // it says something under resources
	Kinds        []Located
	Names        []Located
	Name         Located // a field of its own, which must hold besides; "" where not written
	Namespaces   []Located
	Annotations  map[string]string // nil where not written
	Selector     *Selector         // nil where not written
	// NamespaceSelector is not asked about objects of kind Namespace.
	NamespaceSelector *Selector
	Operations        []Located

	Roles, ClusterRoles []Located
	Subjects            []Subject
}

// Subject is a user, group or service account that sends a request.
type Subject struct {
	Path                  exception.Path
	Kind, Name, Namespace string
	Named                 bool // the name is written
}

func (r *reader) match(f node) Match {
	tree := r.mapping(f)
	return Match{Any: each(r, tree.at("any"), r.filter), All: each(r, tree.at("all"), r.filter)}
}

// matchOfRule reads the match or exclude of a rule.
func (r *reader) matchOfRule(value any) Match {
	f := node{value: value, key: "rule"}
	m, plain := r.match(f), r.filter(r.mapping(f))
	m.Plain = &plain
	return m
}

func (r *reader) filter(item object) Filter {
	resources := r.mapping(item.at("resources"))
	f := Filter{
		Path: item.path, HasResources: len(resources.tree) > 0,
		Kinds: r.texts(resources.at("kinds")), Names: r.texts(resources.at("names")), Namespaces: r.texts(resources.at("namespaces")),
		Annotations: r.textsOf(resources.at("annotations")), Operations: r.texts(resources.at("operations")),
		Selector: r.selector(resources.at("selector")), NamespaceSelector: r.selector(resources.at("namespaceSelector")),
		Roles: r.texts(item.at("roles")), ClusterRoles: r.texts(item.at("clusterRoles")),
	}
	f.Name = r.text(resources.at("name"))
	f.Subjects = each(r, item.at("subjects"), func(s object) Subject {
		return Subject{Path: s.path, Kind: r.text(s.at("kind")).Text, Name: r.text(s.at("name")).Text, Namespace: r.text(s.at("namespace")).Text, Named: s.tree["name"] != nil}
	})
	return f
}

// OfSenders reports whether a filter is for requests of some senders only.
func (f *Filter) OfSenders() bool {
	return len(f.Roles) > 0 || len(f.ClusterRoles) > 0 || len(f.Subjects) > 0
}

// Empty reports whether a filter says nothing. Kyverno matches nothing with it.
func (f *Filter) Empty() bool {
	return !f.OfSenders() && len(f.Kinds) == 0 && len(f.Named()) == 0 && len(f.Namespaces) == 0 && len(f.Annotations) == 0 &&
		f.Selector == nil && f.NamespaceSelector == nil && len(f.Operations) == 0
}

// CoversNamespaces reports whether a filter takes objects of kind Namespace.
func (f *Filter) CoversNamespaces() bool {
	return len(f.Kinds) == 0 || slices.ContainsFunc(f.Kinds, func(k Located) bool { return ParseKind(k.Text).Covers("Namespace", "") })
}

// Named returns the texts of names and of name.
func (f *Filter) Named() []Located {
	if f.Name.Text == "" {
		return f.Names
	}
	return append(slices.Clone(f.Names), f.Name)
}

// namesWhole reports whether a filter says names, and all of them in full.
func (f *Filter) namesWhole() bool {
	named := f.Named()
	return len(named) > 0 && !slices.ContainsFunc(named, func(n Located) bool { return wildcard.In(n.Text) })
}
