package kyverno

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

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
		len(f.Annotations) == 0 && f.Selector == nil && f.NamespaceSelector == nil && len(f.Operations) == 0
}

// CoversNamespaces reports whether a filter can match objects of kind Namespace.
func (f *Filter) CoversNamespaces() bool {
	return len(f.Kinds) == 0 || slices.ContainsFunc(f.Kinds,
		func(k Located) bool { return ParseKind(k.Text).Covers("Namespace", "") })
}

// Named returns the texts of names and of name.
//
//go:noinline
func (f *Filter) Named() []Located {
	if f.Name.Text == "" {
		return f.Names
	}
	return append(slices.Clone(f.Names), f.Name)
}

// Selector is a label selector. In Kyverno, Labels may be patterns.
type Selector struct {
	Path        exception.Path
	Labels      map[string]string
	Expressions []SelectorExpression
}

// SelectorExpression is one of matchExpressions.
type SelectorExpression struct {
	Path     exception.Path
	Key      Located
	Operator string
	Values   []Located
}

func (r *reader) selector(f node) *Selector {
	if f.value == nil {
		return nil
	}
	tree := r.mapping(f)
	if tree.tree == nil {
		return nil
	}
	return &Selector{Path: tree.path, Labels: r.textsOf(tree.at("matchLabels")),
		Expressions: each(r, tree.at("matchExpressions"), func(e object) SelectorExpression {
			return SelectorExpression{Path: e.path, Key: r.text(e.at("key")), Operator: r.text(e.at("operator")).Text,
				Values: r.texts(e.at("values"))}
		})}
}

// Selects reports whether a selector requires a label to be present.
func (s *Selector) Selects() bool {
	if s == nil {
		return false
	}
	for key := range s.Labels {
		if !wildcard.Only(key) {
			return true
		}
	}
	return slices.ContainsFunc(s.Expressions,
		func(e SelectorExpression) bool { return e.Operator == "In" || e.Operator == "Exists" })
}

// literals returns what a selector requires by literal keys and values.
func (s *Selector) literals() (all []SelectorExpression) {
	if s == nil {
		return nil
	}
	for _, key := range s.keys() {
		if value := s.Labels[key.Text]; !wildcard.In(key.Text) && !wildcard.In(value) {
			all = append(all, SelectorExpression{Key: key, Operator: "In", Values: []Located{{Text: value}}})
		}
	}
	return append(all, s.Expressions...)
}

// namespacesByLabel returns the namespaces of which the namespaceSelector requires one by name, or nil.
func (f *Filter) namespacesByLabel() []Located {
	for _, e := range f.NamespaceSelector.literals() {
		if e.Operator == "In" && e.Key.Text == nameOfNamespace && !f.CoversNamespaces() {
			return e.Values
		}
	}
	return nil
}

// apartByLabels returns the reason why no object, or no namespace, has the labels that all filters require, or nil.
func apartByLabels(work *wildcard.Meter, filters []Filter) *Miss {
	labels, ofNamespaces := map[string][]SelectorExpression{}, map[string][]SelectorExpression{}
	for i := range filters {
		f := &filters[i]
		for _, e := range f.Selector.literals() {
			labels[e.Key.Text] = append(labels[e.Key.Text], e)
		}
		for _, e := range f.NamespaceSelector.literals() {
			if !f.CoversNamespaces() { // Kyverno ignores it for a Namespace
				ofNamespaces[e.Key.Text] = append(ofNamespaces[e.Key.Text], e)
			}
		}
	}
	for _, of := range []struct {
		field string
		terms map[string][]SelectorExpression
	}{{"selector", labels}, {"namespaceSelector", ofNamespaces}} {
		for _, key := range slices.Sorted(maps.Keys(of.terms)) {
			if excludeEachOther(work, of.terms[key]) {
				at := slices.IndexFunc(filters, func(f Filter) bool {
					return len(f.Selector.literals())+len(f.NamespaceSelector.literals()) > 0
				})
				return &Miss{Field: of.field, Side: [2][]string{{key}}, At: &filters[at]}
			}
		}
	}
	return nil
}

// excludeEachOther reports whether no value of a label meets all expressions about it.
func excludeEachOther(work *wildcard.Meter, all []SelectorExpression) bool {
	is := func(operator string) func(SelectorExpression) bool {
		return func(e SelectorExpression) bool {
			return e.Operator == operator && (len(e.Values) > 0 || operator[0] != 'I')
		}
	}
	i := slices.IndexFunc(all, is("In"))
	if slices.ContainsFunc(all, is("DoesNotExist")) {
		return i >= 0 || slices.ContainsFunc(all, is("Exists"))
	}
	if i < 0 {
		return false
	}
	left := Texts(all[i].Values)
	for _, e := range all {
		values := Texts(e.Values)
		if !work.Spend(len(left) * len(values)) {
			return false
		}
		left = slices.DeleteFunc(left, func(value string) bool {
			isListed := slices.Contains(values, value)
			return e.Operator == "In" && !isListed || e.Operator == "NotIn" && isListed
		})
	}
	return len(left) == 0
}

// keys returns the sorted keys of the labels with their paths.
func (s *Selector) keys() []Located {
	all := make([]Located, 0, len(s.Labels))
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		all = append(all, Located{key, s.Path.With("matchLabels").With(key)})
	}
	return all
}

// Problems returns why Kubernetes rejects a selector, with which Kyverno matches nothing. Patterns are not checked.
func (s *Selector) Problems() []Problem {
	var problems []Problem
	say := func(path exception.Path, hint, format string, args ...any) {
		problems = append(problems, Problem{path, fmt.Sprintf(format, args...), hint})
	}
	key := func(key Located) {
		if !exception.IsQualifiedName(key.Text) {
			say(key.Path, "write it like example.com/name or name", "%q is not a valid label key", key.Text)
		}
	}
	value := func(value Located) {
		if !exception.IsLabelValue(value.Text) {
			say(value.Path, "use at most 63 letters, digits, dashes, underscores and dots",
				"%q is not a valid label value", value.Text)
		}
	}
	for _, label := range s.keys() {
		if !wildcard.In(label.Text) {
			key(label)
		}
		if text := s.Labels[label.Text]; !wildcard.In(text) {
			value(Located{text, label.Path})
		}
	}
	for _, e := range s.Expressions {
		key(e.Key)
		switch e.Operator {
		case "In", "NotIn":
			if len(e.Values) == 0 {
				say(e.Path, "add values", "the operator %s requires values", e.Operator)
			}
		case "Exists", "DoesNotExist":
			if len(e.Values) > 0 {
				say(e.Path.With("values"), "remove values, or write "+map[string]string{"Exists": "In",
					"DoesNotExist": "NotIn"}[e.Operator], "the operator %s accepts no values", e.Operator)
			}
		default:
			say(e.Path.With("operator"), "write In, NotIn, Exists or DoesNotExist",
				"%q is not an operator of a selector", e.Operator)
		}
		for _, v := range e.Values {
			value(v)
		}
	}
	return problems
}

// KindSelector is one entry of kinds, split as in Kyverno.
type KindSelector struct{ Group, Version, Kind, Subresource string }

var versionForm = regexp.MustCompile(`^(v\d((alpha|beta)\d)?|\*)$`)

// ParseKind parses the forms Kind, version/Kind and group/version/Kind. Each can end with /subresource or .subresource.
func ParseKind(text string) KindSelector {
	last := strings.LastIndex(text, "/") + 1
	if strings.Count(text[:last], "/")+strings.Count(text[last:], ".") >= 4 {
		return KindSelector{} // Kyverno matches nothing with it
	}
	parts := strings.Split(text, "/")
	parts = append(parts[:len(parts)-1], strings.Split(text[last:], ".")...)
	switch len(parts) {
	case 1:
		return KindSelector{"*", "*", parts[0], ""}
	case 2:
		switch {
		case parts[0] == "*" && parts[1] == "*":
			return KindSelector{"*", "*", "*", "*"}
		case parts[0] == "*" && strings.ToLower(parts[1]) == parts[1]:
			return KindSelector{"*", "*", "*", parts[1]}
		case versionForm.MatchString(parts[0]):
			return KindSelector{"*", parts[0], parts[1], ""}
		default:
			return KindSelector{"*", "*", parts[0], parts[1]}
		}
	case 3:
		if versionForm.MatchString(parts[0]) {
			return KindSelector{"*", parts[0], parts[1], parts[2]}
		}
		return KindSelector{parts[0], parts[1], parts[2], ""}
	default:
		return KindSelector{parts[0], parts[1], parts[2], parts[3]}
	}
}

// Covers reports whether a selector can match a kind of one of the groups.
func (k KindSelector) Covers(kind string, groups ...string) bool {
	_, inGroup := wildcard.OverlapsAny(k.Group, groups)
	return inGroup && wildcard.Overlap(k.Kind, kind)
}

// Takes reports whether a selector matches a kind itself and not a subresource of it.
func (k KindSelector) Takes(work *wildcard.Meter, group, version, kind string) bool {
	return work.Fits(k.Kind, kind) && work.Fits(k.Group, group) && work.Fits(k.Version, version) &&
		work.Fits(k.Subresource, "")
}
