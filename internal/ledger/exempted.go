package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/usage"
)

// Exempted is a set of resources that an exception exempts. The set is never smaller than the exempted
// one.
type Exempted struct {
	usage.Scope
	// NarrowedBy are further requirements, each of which all of these resources meet.
	NarrowedBy []string `json:"narrowedBy,omitempty"`
}

// exemptedBy lists the resources of an exception, a set for each alternative.
func exemptedBy(e *kyverno.Exception) []Exempted {
	filters, narrowed := []kyverno.Filter{{}}, []string(nil)
	switch conditions := kyverno.Texts(expressions(e)); {
	case len(e.Unread) > 0:
		narrowed = []string{"fields of another type than polex reads"}
	case e.ByMatch:
		if filters = alternatives(e.Match); len(e.Match.All) > 1 || len(e.Match.All)*len(e.Match.Any) > 0 {
			narrowed = []string{"other filters of the match"}
		}
	case len(conditions) > kyverno.MaxConditions:
		narrowed = []string{fmt.Sprintf("%d match conditions", len(conditions))}
	default:
		if match := kyverno.PlainMatch(conditions); len(match.Any) > 0 {
			filters = match.Any
		} else {
			narrowed = []string{short("match conditions: " + strings.Join(conditions, " && "))}
		}
	}
	if len(filters) > maxListed {
		filters, narrowed = []kyverno.Filter{{}}, []string{fmt.Sprintf("%d filters", len(filters))}
	}
	add := func(what string, is bool) {
		if is {
			narrowed = append(narrowed, what)
		}
	}
	add("preconditions", len(e.Preconditions) > 0)
	add("Pod Security controls", len(e.PodSecurity) > 0)
	add("images", len(e.Images) > 0)
	add("allowed values", len(e.AllowedValues) > 0)
	all := make([]Exempted, len(filters))
	for i := range filters {
		all[i] = exempted(&filters[i], narrowed)
	}
	return all
}

func expressions(e *kyverno.Exception) []kyverno.Located {
	all := make([]kyverno.Located, len(e.Conditions))
	for i, c := range e.Conditions {
		all[i] = c.Expression
	}
	return all
}

// alternatives are the filters of a match, one of which an exempted resource matches. All
// filters of "all" match it as well: the first one that has a list restricts it.
func alternatives(m kyverno.Match) []kyverno.Filter {
	some := slices.Clone(m.Any)
	if len(some) == 0 {
		some = slices.Clone(m.All[:min(len(m.All), 1)])
	}
	first := func(list *[]kyverno.Located, other []kyverno.Located) {
		if len(*list) == 0 {
			*list = other
		}
	}
	for i := range some {
		for _, other := range m.All {
			first(&some[i].Namespaces, other.Namespaces)
			first(&some[i].Kinds, other.Kinds)
			first(&some[i].Names, other.Names)
		}
	}
	return some
}

func exempted(f *kyverno.Filter, narrowed []string) Exempted {
	e := Exempted{NarrowedBy: slices.Clone(narrowed)}
	narrow := func(what string, is bool) {
		if is {
			e.NarrowedBy = append(e.NarrowedBy, short(what))
		}
	}
	list := func(what string, texts []kyverno.Located) []string {
		narrow(fmt.Sprintf("%d %s", len(texts), what), len(texts) > maxListed)
		if len(texts) == 0 || len(texts) > maxListed {
			return []string{"*"}
		}
		all := kyverno.Texts(texts)
		for i := range all {
			all[i] = short(all[i])
		}
		return all
	}
	e.Namespaces, e.Kinds, e.Names = list("namespaces", f.Namespaces), list("kinds", f.Kinds), list("names", f.Named())
	narrow("labels"+selected(f.Selector), f.Selector != nil)
	narrow("labels of the namespace"+selected(f.NamespaceSelector), f.NamespaceSelector != nil)
	narrow("annotations", len(f.Annotations) > 0)
	narrow("operations", len(f.Operations) > 0)
	narrow("users", f.OfSenders())
	return e
}

// selected writes the labels of a selector.
func selected(s *kyverno.Selector) string {
	if s == nil || len(s.Labels) == 0 {
		return ""
	}
	var labels []string
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		labels = append(labels, key+"="+s.Labels[key])
	}
	return " " + strings.Join(labels, ", ")
}

// severities are those of Kyverno, the highest first.
var severities = []string{"critical", "high", "medium", "low", "info"}

// Weigh gives each policy of the entries its severity: the highest one that the documents of a set
// state, or "unknown".
func (l *Ledger) Weigh(set *kyverno.PolicySet) {
	for _, e := range l.Entries {
		for i := range e.Policies {
			p := &e.Policies[i]
			name, kind := kyverno.Located{Text: p.Name}, kyverno.Located{Text: p.Kind}
			ref := kyverno.Ref{Group: e.Identity.Group, Kind: kind, Name: name}
			rank := len(severities)
			for _, policy := range set.Find(ref) {
				if n := slices.Index(severities, policy.Severity); n >= 0 {
					rank = min(rank, n)
				}
			}
			p.Severity = slices.Concat(severities, []string{"unknown"})[rank]
		}
	}
}
