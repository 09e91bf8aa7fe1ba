package kyverno

import (
	"slices"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Match selects resources: the match of a kyverno.io exception, or the match or exclude of a rule.
// A resource has to match one filter of Any, or all filters of All.
type Match struct {
	Any, All []Filter
	// Plain is the old form in a rule, without any or all; nil elsewhere.
	Plain *Filter
}

// Filters returns all filters.
func (m Match) Filters() []Filter {
	all := slices.Concat(m.Any, m.All)
	if m.Plain != nil {
		all = append(all, *m.Plain)
	}
	return all
}

// Filter is one filter. A resource has to match all its fields, and one text of each list.
type Filter struct {
	Path         exception.Path
	HasResources bool // resources is not empty
	Kinds        []Located
	Names        []Located
	Name         Located // a separate field, which has to match too; "": absent
	Namespaces   []Located
	Annotations  map[string]string // nil: absent
	Selector     *Selector         // nil: absent
	// NamespaceSelector does not apply to objects of kind Namespace.
	NamespaceSelector *Selector
	Operations        []Located

	Roles, ClusterRoles []Located
	Subjects            []Subject

	parsed []KindSelector // of Kinds, or nil if nobody has asked
}

// selectors returns the parsed kinds.
func (f *Filter) selectors() []KindSelector {
	for _, k := range f.Kinds[len(f.parsed):] {
		f.parsed = append(f.parsed, ParseKind(k.Text))
	}
	return f.parsed
}

// Subject is a user, group or service account that sends a request.
type Subject struct {
	Path                  exception.Path
	Kind, Name, Namespace string
	Named                 bool // the name is present
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
		Kinds: r.texts(resources.at("kinds")), Names: r.texts(resources.at("names")),
		Namespaces:  r.texts(resources.at("namespaces")),
		Annotations: r.textsOf(resources.at("annotations")), Operations: r.texts(resources.at("operations")),
		Selector:          r.selector(resources.at("selector")),
		NamespaceSelector: r.selector(resources.at("namespaceSelector")),
		Roles:             r.texts(item.at("roles")), ClusterRoles: r.texts(item.at("clusterRoles")),
	}
	f.Name = r.text(resources.at("name"))
	f.Subjects = each(r, item.at("subjects"), func(s object) Subject {
		return Subject{Path: s.path, Kind: r.text(s.at("kind")).Text, Name: r.text(s.at("name")).Text,
			Namespace: r.text(s.at("namespace")).Text, Named: s.tree["name"] != nil}
	})
	return f
}

// OfSenders reports whether a filter requires certain senders of the request.
func (f *Filter) OfSenders() bool {
	return len(f.Roles) > 0 || len(f.ClusterRoles) > 0 || len(f.Subjects) > 0
}

// Empty reports whether a filter has no field. Kyverno matches nothing with it.
func (f *Filter) Empty() bool {
	return !f.OfSenders() && len(f.Kinds) == 0 && len(f.Named()) == 0 && len(f.Namespaces) == 0 &&
		len(f.Annotations) == 0 &&
		f.Selector == nil && f.NamespaceSelector == nil && len(f.Operations) == 0
}

// CoversNamespaces reports whether a filter can match objects of kind Namespace.
func (f *Filter) CoversNamespaces() bool {
	return len(f.Kinds) == 0 || slices.ContainsFunc(f.Kinds,
		func(k Located) bool { return ParseKind(k.Text).Covers("Namespace", "") })
}

// Named returns the texts of names and of name.
func (f *Filter) Named() []Located {
	if f.Name.Text == "" {
		return f.Names
	}
	return append(slices.Clone(f.Names), f.Name)
}

// namesWhole reports whether a filter lists names, all without patterns.
func (f *Filter) namesWhole() bool {
	named := f.Named()
	return len(named) > 0 && !slices.ContainsFunc(named, func(n Located) bool { return wildcard.In(n.Text) })
}
