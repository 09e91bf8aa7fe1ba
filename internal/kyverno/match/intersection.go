package match

import (
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// InBoth returns a resource that both matches select, if it finds one. It constructs a resource
// from their texts and then evaluates both. The resource proves that they overlap.
func InBoth(work *wildcard.Meter, a, b Block) *Resource {
	for _, x := range a {
		for _, y := range b {
			if work.Spent() {
				return nil
			}
			if r := madeUp(work, x, y); r != nil && a.takes(work, r) && b.takes(work, r) {
				return r
			}
		}
	}
	return nil
}

// madeUp constructs a resource that the filters of both sides probably match.
func madeUp(work *wildcard.Meter, x, y []Filter) *Resource {
	if usersOf(x) && usersOf(y) {
		return nil // this would need a common user too
	}
	// Names first: most matches differ in them.
	name, found := commonText(work, x, y, Filter.NamesAsked)
	if !found {
		return nil
	}
	home, found := commonText(work, x, y, func(f Filter) []string { return f.Namespaces })
	if !found {
		return nil
	}
	r := &Resource{labels: map[string]string{}, annotations: map[string]string{}}
	if r.Id.Group, r.Version, r.Id.Kind, found = commonKind(work, x, y); !found || home != "" &&
		slices.Contains(manifest.ClusterScopedKinds[r.Id.Group], r.Id.Kind) && r.Id.Kind != "Namespace" {
		return nil
	}
	r.Id.Name, r.Id.Namespace = name, home
	if r.Id.Kind == "Namespace" && r.Id.Namespace != "" {
		r.Id.Name, r.Id.Namespace = r.Id.Namespace, "" // a Namespace is in itself
	}
	r.Home = &Namespace{Labels: map[string]string{}, Written: true}
	for _, f := range append(x[:len(x):len(x)], y...) {
		fill(work, r.annotations, f.Annotations)
		f.Selector.satisfy(work, r.labels)
		f.NamespaceSelector.satisfy(work, r.Home.Labels)
	}
	if r.Id.Namespace != "" {
		r.Home.Labels[manifest.LabelOfNamespace] = r.Id.Namespace
	}
	if r.Id.Name == "" {
		r.Id.Name = "any"
	}
	return r
}

func usersOf(filters []Filter) bool {
	return slices.ContainsFunc(filters, func(f Filter) bool { return f.Users })
}

// firstOf returns the first list of the filters that is not empty, or otherwise.
func firstOf[T any](filters []Filter, of func(Filter) []T, otherwise ...T) []T {
	for _, f := range filters {
		if list := of(f); len(list) > 0 {
			return list
		}
	}
	return otherwise
}

// commonText returns a text that matches a pattern of each side. It is "" if neither side has a pattern but "*".
func commonText(work *wildcard.Meter, x, y []Filter, of func(Filter) []string) (text string, found bool) {
	mine, yours := firstOf(x, of, "*"), firstOf(y, of, "*")
	if len(mine) == 1 && len(yours) == 1 && mine[0] == "*" && yours[0] == "*" {
		return "", true
	}
	for _, a := range mine {
		for _, b := range yours {
			if text, found := work.Common(a, b); found {
				return text, true
			}
			if work.Spent() {
				return "", false
			}
		}
	}
	return "", false
}

// commonKind returns a kind that a selector of each side matches. At least one side has to name it.
// If neither side has kinds, the kind is Deployment.
func commonKind(work *wildcard.Meter, x, y []Filter) (group, version, kind string, found bool) {
	kinds, anyKind := func(f Filter) []kyverno.KindSelector { return f.Kinds },
		kyverno.KindSelector{Group: "*", Version: "*", Kind: "*"}
	mine, yours := firstOf(x, kinds, anyKind), firstOf(y, kinds, anyKind)
	if len(firstOf(append(x[:len(x):len(x)], y...), kinds)) == 0 {
		return "apps", "v1", "Deployment", true
	}
	for _, a := range mine {
		for _, b := range yours {
			if wildcard.In(a.Kind) && wildcard.In(b.Kind) {
				continue
			}
			kind, found = work.Common(a.Kind, b.Kind)
			if !found || !work.Fits(a.Subresource, "") || !work.Fits(b.Subresource, "") {
				continue
			}
			group, found = work.Common(a.Group, b.Group)
			if found && wildcard.In(a.Group) && wildcard.In(b.Group) {
				group = manifest.GroupOf(kind)
			}
			if version, _ = work.Common(a.Version, b.Version); version == "any" {
				version = "v1"
			}
			if found {
				return group, version, kind, true
			}
		}
		if work.Spent() {
			break
		}
	}
	return "", "", "", false
}

// fill adds the pairs that the patterns need and that pairs does not contain.
func fill(work *wildcard.Meter, pairs, patterns map[string]string) {
	for _, plain := range []bool{true, false} {
		for _, key := range slices.Sorted(maps.Keys(patterns)) {
			value := patterns[key]
			if wildcard.In(key+value) != plain && !hasPair(work, key, value, pairs) {
				pairs[wildcard.Filled(key)] = wildcard.Filled(value)
			}
		}
	}
}

// satisfy adds the labels that a selector requires. The caller has to evaluate the selector
// afterwards, because another selector may forbid these labels.
func (s *LabelSelector) satisfy(work *wildcard.Meter, labels map[string]string) {
	if s == nil {
		return
	}
	fill(work, labels, s.Labels)
	for _, e := range s.Expressions {
		switch _, set := labels[e.Key.Text]; {
		case set:
		case e.Operator == "In" && len(e.Values) > 0:
			labels[e.Key.Text] = e.Values[0].Text
		case e.Operator == "Exists":
			labels[e.Key.Text] = "any"
		}
	}
}

// Describe names a resource for people.
func (r *Resource) Describe() string {
	return r.Id.Kind + " " + strings.TrimPrefix(r.Id.Namespace+"/"+r.Id.Name, "/")
}
