package match

import (
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Block is the match of an exception, as lists of filters: a resource has to match all filters of one. Kyverno
// 1.19 evaluates it like this (pkg/engine/utils/exceptions.go). With any, one filter has to match, and all is ignored.
// With only all, every filter has to match. With neither, nothing matches.
type Block [][]Filter

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
func (f Filter) NamesAsked() []string {
	if f.Name != "" {
		return []string{f.Name}
	}
	return f.Names
}

// BlockOf converts a match.
func BlockOf(m kyverno.Match) (b Block) {
	if len(m.Any)+len(m.All) == 0 {
		return nil
	}
	for _, filters := range m.Alternatives() {
		b = append(b, filtersOf(filters))
	}
	return b
}

func filtersOf(all []kyverno.Filter) []Filter {
	filters := make([]Filter, len(all))
	for i := range all {
		of := &all[i]
		f := Filter{
			Name: of.Name.Text, Names: kyverno.Texts(of.Names), Namespaces: kyverno.Texts(of.Namespaces),
			Annotations: of.Annotations, Selector: selectorOf(of.Selector),
			NamespaceSelector: selectorOf(of.NamespaceSelector), Users: of.OfSenders(), Empty: of.Empty(),
		}
		for _, kind := range of.Kinds {
			f.Kinds = append(f.Kinds, kyverno.ParseKind(kind.Text))
		}
		filters[i] = f
	}
	return filters
}

// takes reports whether the match selects a resource. Facts that a file does not contain count as matching: the sender
// of the request, and a namespace that is not written.
func (b Block) takes(work *wildcard.Meter, r *Resource) bool {
	return slices.ContainsFunc(b, func(filters []Filter) bool {
		return !slices.ContainsFunc(filters, func(f Filter) bool { return !f.takes(work, r) })
	}) && !work.Spent()
}

func (f *Filter) takes(work *wildcard.Meter, r *Resource) bool {
	if f.Empty || f.Name != "" && !work.Fits(f.Name, r.Id.Name) ||
		len(f.Names) > 0 && !work.FitsAny(f.Names, r.Id.Name) || len(f.Kinds) > 0 && !slices.ContainsFunc(f.Kinds,
		func(k kyverno.KindSelector) bool { return k.Takes(work, r.Id.Group, r.Version, r.Id.Kind) }) {
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

// LabelSelector is a selector as in Kyverno 1.19: only matchLabels may have patterns.
type LabelSelector struct {
	*kyverno.Selector
	Broken bool // Kubernetes rejects it, so it matches nothing
}

// zeroed makes the text that Kyverno passes to Kubernetes for a pattern that matches no label of the object.
var zeroed = strings.NewReplacer("*", "0", "?", "0")

// selectorOf returns nil if there is no selector.
func selectorOf(of *kyverno.Selector) *LabelSelector {
	if of == nil {
		return nil
	}
	s := &LabelSelector{of, len(of.Problems()) > 0}
	for key, text := range s.Labels {
		s.Broken = s.Broken || !exception.IsQualifiedName(zeroed.Replace(key)) ||
			!exception.IsLabelValue(zeroed.Replace(text))
	}
	return s
}

// matches reports whether the selector matches an object with these labels.
func (s *LabelSelector) matches(work *wildcard.Meter, labels map[string]string) bool {
	if s.Broken {
		return false
	}
	for key, value := range s.Labels {
		if !hasPair(work, key, value, labels) {
			return false
		}
	}
	for _, e := range s.Expressions {
		value, set := labels[e.Key.Text]
		work.Spend(1 + len(e.Values))
		in := set && slices.ContainsFunc(e.Values, func(v kyverno.Located) bool { return v.Text == value })
		if ok := map[string]bool{"In": in, "NotIn": !in, "Exists": set, "DoesNotExist": !set}[e.Operator]; !ok {
			return false
		}
	}
	return !work.Spent()
}

// hasPair reports whether a label or annotation matches a pattern for the key and one for the value.
func hasPair(work *wildcard.Meter, key, value string, pairs map[string]string) bool {
	if !wildcard.In(key) {
		actual, set := pairs[key]
		return set && work.Fits(value, actual)
	}
	for k, v := range pairs {
		if work.Fits(key, k) && work.Fits(value, v) {
			return true
		}
	}
	return false
}
