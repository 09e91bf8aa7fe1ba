package shape

import (
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/shape/internal/manifest"
	"github.com/polex-dev/polex/pkg/shape/internal/wildcard"
)

// inBoth returns a resource that both matches take, if it finds one: it makes
// one up of what they ask for, and then holds it against both. That two matches
// can meet is only said with such a resource in hand.
func inBoth(work *wildcard.Meter, a, b matchBlock) *resource {
	for _, x := range a.alternatives() {
		for _, y := range b.alternatives() {
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

// madeUp makes a resource that the filters of both sides are likely to take.
func madeUp(work *wildcard.Meter, x, y []*matchFilter) *resource {
	if usersOf(x) && usersOf(y) {
		return nil // who both are for would have to be made up too
	}
	// Names first: they are what most matches differ in.
	name, found := commonText(work, x, y, func(f *matchFilter) []string {
		if f.name != "" {
			return []string{f.name}
		}
		return f.names
	})
	if !found {
		return nil
	}
	home, found := commonText(work, x, y, func(f *matchFilter) []string { return f.namespaces })
	if !found {
		return nil
	}
	r := &resource{labels: map[string]string{}, annotations: map[string]string{}}
	if r.id.Group, r.version, r.id.Kind, found = commonKind(work, x, y); !found {
		return nil
	}
	r.id.Name, r.id.Namespace = name, home
	if r.id.Kind == "Namespace" && r.id.Namespace != "" {
		r.id.Name, r.id.Namespace = r.id.Namespace, "" // it is in itself
	}
	r.home = &namespace{labels: map[string]string{}, written: true}
	for _, f := range append(x[:len(x):len(x)], y...) {
		fill(work, r.annotations, f.annotations)
		f.selector.satisfy(work, r.labels)
		f.namespaceSelector.satisfy(work, r.home.labels)
	}
	if r.id.Namespace != "" {
		r.home.labels[manifest.LabelOfNamespace] = r.id.Namespace
	}
	if r.id.Name == "" {
		r.id.Name = "any"
	}
	return r
}

func usersOf(filters []*matchFilter) bool {
	for _, f := range filters {
		if f.users {
			return true
		}
	}
	return false
}

// commonText returns a text that fits a pattern of each side, or "" where a side
// says none.
func commonText(work *wildcard.Meter, x, y []*matchFilter, of func(*matchFilter) []string) (text string, found bool) {
	mine, yours := firstSaid(x, of), firstSaid(y, of)
	if len(mine) == 0 {
		mine = []string{"*"}
	}
	if len(yours) == 0 {
		yours = []string{"*"}
	}
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

func firstSaid(filters []*matchFilter, of func(*matchFilter) []string) []string {
	for _, f := range filters {
		if said := of(f); len(said) > 0 {
			return said
		}
	}
	return nil
}

// commonKind returns a kind that a selector of each side takes. One side at
// least must name it.
func commonKind(work *wildcard.Meter, x, y []*matchFilter) (group, version, kind string, found bool) {
	mine, yours := firstKinds(x), firstKinds(y)
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
				group = manifest.PodControllers[kind]
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

func firstKinds(filters []*matchFilter) []manifest.KindSelector {
	for _, f := range filters {
		if len(f.kinds) > 0 {
			return f.kinds
		}
	}
	return []manifest.KindSelector{{Group: "*", Version: "*", Kind: "*"}}
}

// fill adds to pairs what patterns ask for and pairs does not have.
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

// satisfy adds labels that a selector asks for. Whether the selector then takes
// them is for the caller to see: another may forbid what this one asks for.
func (s *labelSelector) satisfy(work *wildcard.Meter, labels map[string]string) {
	if s == nil {
		return
	}
	fill(work, labels, s.labels)
	for _, e := range s.expressions {
		if _, set := labels[e.key]; set {
			continue
		}
		switch {
		case e.operator == "In" && len(e.values) > 0:
			labels[e.key] = e.values[0]
		case e.operator == "Exists":
			labels[e.key] = "any"
		}
	}
}

// describe names a witness for people.
func (r *resource) describe() string {
	return r.id.Kind + " " + strings.TrimPrefix(r.id.Namespace+"/"+r.id.Name, "/")
}
