package kyverno

import (
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// Alternatives returns lists of filters: the exception exempts only resources that match all filters
// of one list. Of match conditions, it reads the plain comparisons that && joins.
func (e *Exception) Alternatives() [][]Filter {
	switch {
	case !e.ByMatch:
		return plainParts(Parts(e.expressions()))
	case len(e.Match.Filters()) == 0:
		return nil
	}
	return e.Match.alternatives()
}

// Bounds returns filters of which each exempted resource matches one: those of the match, or those of
// plain conditions. Of conditions, only object.metadata.namespace is in a filter. Each condition has
// filters of its own: in an admission policy that Kyverno generates, each exempts by itself.
func (e *Exception) Bounds() (bounds []Filter) {
	if e.ByMatch {
		return e.Match.Filters()
	}
	for _, c := range e.Conditions {
		parts := slices.DeleteFunc(Parts([]string{c.Expression.Text}),
			func(part string) bool { return strings.Contains(part, "request . namespace") }) // of another object
		for _, filters := range plainParts(parts) {
			f := Filter{Path: c.Expression.Path}
			for _, one := range filters {
				f.Namespaces = append(f.Namespaces, one.Namespaces...)
			}
			bounds = append(bounds, f)
		}
	}
	return bounds
}

// plainParts returns the filters of the parts that are plain comparisons, as lists of which one has to
// match. Other parts may be true for everything.
func plainParts(parts []string) [][]Filter {
	lists := [][]Filter{{}}
	for _, part := range parts {
		filters := PlainMatch([]string{part}).Any
		if len(filters) == 0 || len(lists)*len(filters) > maxAlternatives {
			continue
		}
		var joined [][]Filter
		for _, list := range lists {
			for _, f := range filters {
				joined = append(joined, append(slices.Clone(list), f))
			}
		}
		lists = joined
	}
	return lists
}

func (e *Exception) expressions() []string {
	texts := make([]string, len(e.Conditions))
	for i, c := range e.Conditions {
		texts[i] = c.Expression.Text
	}
	return texts
}

// operation matches a part of a condition that requires some operations.
var operation = regexp.MustCompile(`^request \. operation (?:== "\w+"|in \[ "\w+"(?: , "\w+")* \])$`)

// Operations returns the operations of which the match conditions require one, or nil.
func (e *Exception) Operations() []string {
	for _, part := range Parts(e.expressions()) {
		if operation.MatchString(part) {
			return strings.FieldsFunc(part[len("request . operation "):],
				func(r rune) bool { return r < 'A' || r > 'Z' && r < 'a' || r > 'z' })[strings.Count(part, " in "):]
		}
	}
	return nil
}

// Miss is the reason why no resource matches several filters at once.
type Miss struct {
	Field string // of resources in a filter; "scope" if a kind has no namespace
	Side  [2][]string
	At    *Filter // the first of the filters
}

// Contradiction returns the reason why no resource matches all filters, or nil if one may. It
// compares texts and evaluates nothing: labels only if they are not patterns.
func Contradiction(work *wildcard.Meter, filters []Filter) *Miss {
	for i := range filters {
		f := &filters[i]
		for j := range filters[i+1:] {
			if miss := f.apartFrom(work, &filters[i+1+j]); miss != nil {
				return miss
			}
		}
	}
	kinds := commonKinds(work, filters)
	for i := range filters {
		if wrong := filters[i].impossible(); wrong != nil {
			return wrong
		}
		if f := &filters[i]; len(kinds) > 0 && len(f.Namespaces) > 0 && !work.FitsAny(Texts(f.Namespaces), "") &&
			!slices.ContainsFunc(kinds, func(k KindSelector) bool { return !k.hasNoNamespace() }) && !work.Spent() {
			return &Miss{"scope", [2][]string{{kinds[0].Kind}, Texts(f.Namespaces)}, f}
		}
	}
	return nil
}

// String returns the selector in the shortest form that Kyverno reads.
func (k KindSelector) String() string {
	text := k.Kind
	if k.Subresource != "" {
		text += "/" + k.Subresource
	}
	for _, part := range []string{k.Version, k.Group} {
		if part != "*" && part != "" {
			text = part + "/" + text
		}
	}
	return text
}

func (k KindSelector) hasNoNamespace() bool {
	return k.Kind != "Namespace" && manifest.IsClusterScoped(k.Group, k.Kind)
}

// The texts that no namespace and no name contains. The name of a role may contain most others.
var (
	notInNamespace = regexp.MustCompile(`[^a-z0-9*?-]`)
	notInName      = regexp.MustCompile(`/|%|\$\{|\{\{`)
)

// impossible returns the reason why no resource has one of the namespaces or names, such as a
// variable that nothing replaces, or nil.
func (f *Filter) impossible() *Miss {
	for _, of := range []struct {
		field string
		list  []Located
		never *regexp.Regexp
	}{{"namespaces", f.Namespaces, notInNamespace}, {"names", f.Named(), notInName}} {
		if len(of.list) > 0 && !slices.ContainsFunc(of.list,
			func(text Located) bool { return !of.never.MatchString(text.Text) }) {
			return &Miss{"impossible " + of.field, [2][]string{Texts(of.list)}, f}
		}
	}
	return nil
}

// apartFrom returns the reason why no resource matches both filters, or nil.
func (f *Filter) apartFrom(work *wildcard.Meter, other *Filter) *Miss {
	for _, of := range []struct {
		field      string
		mine, your []Located
		meet       func(*wildcard.Meter, []Located, []Located) bool
	}{
		{"kinds", f.Kinds, other.Kinds, meetKinds},
		{"names", f.Named(), other.Named(), meet},
		{"namespaces", f.Namespaces, other.Namespaces, meet},
	} {
		if len(of.mine) > 0 && len(of.your) > 0 && !of.meet(work, of.mine, of.your) && !work.Spent() {
			return &Miss{of.field, [2][]string{texts(of.field, of.mine), texts(of.field, of.your)}, f}
		}
	}
	if f.Selector == nil || other.Selector == nil {
		return nil
	}
	for key, value := range f.Selector.Labels {
		if your, both := other.Selector.Labels[key]; both && value != your && !wildcard.In(key+value+your) {
			return &Miss{"selector", [2][]string{{key + ": " + value}, {key + ": " + your}}, f}
		}
	}
	return nil
}

func texts(field string, all []Located) []string {
	written := Texts(all)
	if field == "kinds" {
		for i, text := range written {
			written[i] = ParseKind(text).String()
		}
	}
	return written
}

// meet reports whether a text exists that matches a pattern of both lists. Letter case counts, as
// in Kyverno.
func meet(work *wildcard.Meter, some, others []Located) bool {
	return slices.ContainsFunc(some, func(a Located) bool {
		return slices.ContainsFunc(others, func(b Located) bool { return meetTexts(work, a.Text, b.Text) })
	})
}

func meetTexts(work *wildcard.Meter, a, b string) bool {
	switch {
	case !wildcard.In(a):
		return work.Fits(b, a)
	case !wildcard.In(b):
		return work.Fits(a, b)
	}
	return work.Overlap(a, b)
}

func meetKinds(work *wildcard.Meter, some, others []Located) bool {
	return slices.ContainsFunc(some, func(a Located) bool {
		return slices.ContainsFunc(others, func(b Located) bool {
			_, meet := ParseKind(a.Text).common(work, ParseKind(b.Text))
			return meet
		})
	})
}

// common returns the kind that both selectors match, with the more exact group. Kyverno also takes
// a selector of Pods for their subresource ephemeralcontainers.
func (k KindSelector) common(work *wildcard.Meter, other KindSelector) (KindSelector, bool) {
	if !meetTexts(work, k.Group, other.Group) || !meetTexts(work, k.Version, other.Version) ||
		!meetTexts(work, k.Kind, other.Kind) {
		return k, false
	}
	if k.Subresource != other.Subresource && !meetTexts(work, k.Subresource, other.Subresource) {
		const debug = "ephemeralcontainers"
		if !meetTexts(work, k.Kind, "Pod") || !slices.Contains([]string{k.Subresource, other.Subresource}, debug) {
			return k, false
		}
	}
	if wildcard.In(k.Group) {
		k.Group = other.Group
	}
	if wildcard.In(k.Kind) {
		k.Kind = other.Kind
	}
	return k, true
}

// commonKinds returns the kinds that all filters match, of the first two that list kinds.
func commonKinds(work *wildcard.Meter, filters []Filter) []KindSelector {
	var found []KindSelector
	for _, f := range filters {
		if len(f.Kinds) == 0 {
			continue
		}
		var all []KindSelector
		for _, text := range f.Kinds {
			kind := ParseKind(text.Text)
			if len(found) == 0 {
				all = append(all, kind)
			}
			for _, other := range found {
				if both, meet := other.common(work, kind); meet {
					all = append(all, both)
				}
			}
		}
		found = all
	}
	return found
}
