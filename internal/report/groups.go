package report

import (
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
	rank := strings.NewReplacer("*", " ").Replace // the namespace "*" is first
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return strings.Compare(rank(a), rank(b)) })
	if len(names) > 0 && names[0] == "" {
		names = append(names[1:], "")
	}
	return listOf(names, func(namespace string) group { return group{namespace, by[namespace]} })
}

// Exempts returns the resources in the namespace of the group that are exempt, a text for each set.
func (m member) Exempts() []string {
	var all []string
	for _, x := range m.Exempted {
		if slices.Contains(x.Namespaces, m.Namespace) {
			all = append(all, inWordsOf(x))
		}
	}
	return all
}

func inWordsOf(x ledger.Exempted) string {
	text := strings.Join(x.Kinds, ", ") + ": " + strings.Join(x.Names, ", ")
	if len(x.NarrowedBy) > 0 {
		text += " (only with " + strings.Join(x.NarrowedBy, "; ") + ")"
	}
	return text
}

// Where names the namespace of a group for people.
func (g group) Where() string {
	switch g.Namespace {
	case "":
		return "no namespace stated"
	case "*":
		return "any namespace (*)"
	}
	return "namespace " + g.Namespace
}
