package witness

import (
	"iter"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"

	"github.com/polex-dev/polex/pkg/shape/internal/expression"
)

// A class is a sort of request about resources that have nothing else in
// common: their names, namespaces and, unless it is the class of one kind,
// their kinds and groups differ. A condition that is true of all of them says
// nothing of the resource; which class it is true of says what it does say.
type class struct {
	kind      string // "" for unlike kinds
	operation string
	requester string
	scope     string
	labelled  string
}

const (
	byUser, byServiceAccount  = "a user", "a service account"
	namespaced, clusterScoped = "namespaced", "cluster-scoped"
	withLabels, withoutLabels = "labelled", "unlabelled"
)

var (
	allOperations = []string{"CREATE", "UPDATE", "DELETE"}
	allRequesters = []string{byUser, byServiceAccount}
	allScopes     = []string{namespaced, clusterScoped}
	allLabelled   = []string{withLabels, withoutLabels}
)

// classes are all the classes of resources of a kind, or of unlike kinds.
func classes(kind string) iter.Seq[class] {
	return func(yield func(class) bool) {
		for _, operation := range allOperations {
			for _, requester := range allRequesters {
				for _, scope := range allScopes {
					for _, labelled := range allLabelled {
						if !yield(class{kind, operation, requester, scope, labelled}) {
							return
						}
					}
				}
			}
		}
	}
}

// Every says in words of which classes the conditions are true, "" for none.
func (t *Trial) Every() string {
	var found []class
	// Of unlike kinds first: what is true of those is true of each kind.
	for _, kind := range slices.Concat([]string{""}, t.allKinds()) {
		for c := range classes(kind) {
			if t.holdsOfAll(c) {
				found = append(found, c)
			}
		}
		if kind == "" && len(found) > 0 {
			break
		}
	}
	if len(found) == 0 || t.Exhausted != nil {
		return ""
	}
	return describedClasses(found)
}

// allKinds are those that the conditions speak of and those that are known.
func (t *Trial) allKinds() []string {
	kinds := slices.Clone(t.kinds)
	for _, scope := range allScopes {
		for _, is := range knownSpecies[scope] {
			if !slices.Contains(kinds, is.kind) {
				kinds = append(kinds, is.kind)
			}
		}
	}
	return kinds
}

// Misses reports whether a condition is false of some resource, as most are of
// any.
func (t *Trial) Misses(c *expression.Condition) bool {
	t.facts = t.inClass(class{operation: "CREATE", requester: byUser, scope: namespaced, labelled: withoutLabels}, 0, knownSpecies[namespaced][0])
	return t.Exhausted == nil && t.evaluate(c) == types.False
}

// holdsOfAll reports whether the conditions are true of the whole class. It
// stops at the first request that they are not true of. There is none of a kind
// that is known to have another scope.
func (t *Trial) holdsOfAll(c class) bool {
	several := persons
	if c.kind != "" {
		several = alike
	}
	for i := range several {
		is := t.ofClass(c, i)
		if is == nil || !t.holds(t.inClass(c, i, is)) {
			return false
		}
	}
	return true
}

// ofClass returns the species of one person's resource: the same for all, or of
// those that every cluster has, and one that nobody has heard of.
func (t *Trial) ofClass(c class, nth int) *species {
	if c.kind != "" {
		return t.ofKind(c.kind, c.scope)
	}
	if known := knownSpecies[c.scope]; nth < len(known) {
		return known[nth]
	}
	return t.strange(nth)
}

// inClass are the facts about one person's resource.
func (t *Trial) inClass(c class, nth int, is *species) facts {
	p := &t.persons[nth]
	about := facts{operation: c.operation, species: is, name: p.name, sender: p.sender(c.requester)}
	if c.scope == namespaced {
		about.namespace = p.namespace
	}
	if c.labelled == withLabels {
		about.dress = p.dress
	}
	return about
}

func (p *person) sender(is string) sender {
	if is == byServiceAccount {
		return sender{is, p.account}
	}
	return sender{is, p.user}
}

// described says in words what is common to classes.
func describedClasses(found []class) string {
	kinds := said(found, nil, func(c class) string { return c.kind })
	noun := "resource"
	if len(kinds) > 0 && kinds[0] != "" {
		noun = strings.Join(kinds, " or ")
	}
	words := slices.Concat(
		said(found, allLabelled, func(c class) string { return c.labelled }),
		said(found, allScopes, func(c class) string { return c.scope }),
		[]string{noun})
	text := strings.Join(words, " ")
	operations := said(found, allOperations, func(c class) string {
		return map[string]string{"CREATE": "created", "UPDATE": "updated", "DELETE": "deleted"}[c.operation]
	})
	requesters := said(found, allRequesters, func(c class) string { return c.requester })
	switch {
	case len(operations) > 0:
		text += " that is " + strings.Join(operations, " or ")
	case len(requesters) > 0:
		text += " that is asked for"
	}
	if len(requesters) > 0 {
		text += " by " + strings.Join(requesters, " or ")
	}
	return text
}

// said are the different words of classes, none when they are all there are.
func said(found []class, all []string, word func(class) string) []string {
	var words []string
	for _, c := range found {
		if w := word(c); !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	if len(words) == len(all) {
		return nil
	}
	return words
}
