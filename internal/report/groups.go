package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/ledger"
)

// group are the entries that exempt resources in one namespace.
type group struct {
	Namespace string
	Members   []member
}

// member is an entry in a group.
type member struct {
	*ledger.Entry
	Namespace string
	First     bool // of its groups
}

// groups returns entries by exempted namespace: first "*", last "" for those that name no
// resource. An entry is in the group of each namespace that it exempts resources in.
func groups(entries []*ledger.Entry) []group {
	by := map[string][]member{}
	for _, e := range entries {
		var namespaces []string
		for _, x := range e.Exempted {
			namespaces = append(namespaces, x.Namespaces...)
		}
		if len(namespaces) == 0 {
			namespaces = []string{""}
		}
		slices.Sort(namespaces)
		for i, namespace := range slices.Compact(namespaces) {
			by[namespace] = append(by[namespace], member{e, namespace, i == 0})
		}
	}
	all := make([]group, 0, len(by))
	for _, namespace := range slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Compare(rank(a), rank(b)) }) {
		all = append(all, group{namespace, by[namespace]})
	}
	return all
}

// rank sorts namespaces.
func rank(namespace string) string {
	switch namespace {
	case "*":
		return ""
	case "":
		return "\U0010FFFF"
	}
	return "n" + namespace
}

// exempts says which resources in the namespace of the group are exempt.
func (m member) exempts() []string {
	var all []string
	for _, x := range m.Exempted {
		if !slices.Contains(x.Namespaces, m.Namespace) {
			continue
		}
		text := strings.Join(x.Kinds, ", ") + ": " + strings.Join(x.Names, ", ")
		if len(x.NarrowedBy) > 0 {
			text += " (only with " + strings.Join(x.NarrowedBy, "; ") + ")"
		}
		all = append(all, text)
	}
	return all
}

// where names the namespace of a group for people.
func where(namespace string) string {
	switch namespace {
	case "":
		return "no namespace stated"
	case "*":
		return "any namespace (*)"
	}
	return "namespace " + namespace
}
