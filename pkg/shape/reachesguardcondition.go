package shape

import (
	"fmt"
	"slices"
	"strings"
)

// reachesByCondition looks at the texts in CEL conditions, and then tries the
// conditions on what guards exceptions. It is no proof: a condition can ask for
// a label that only the guard has. What protects the guard is that its policies
// cannot be named; this catches what is written plainly or made of pieces.
func (s *subject) reachesByCondition() {
	before := len(s.found)
	for _, c := range s.conditions() {
		aboutNamespaces := strings.Contains(strings.ToLower(c.text), "namespace")
		for _, literal := range c.literals() {
			if namesException(literal) {
				s.refuse(ReasonReachesGuard, c.path, fmt.Sprintf("the condition speaks of %q: an exception must not exempt exceptions from their checks", literal), "write it about the resources that need it")
				continue
			}
			if !aboutNamespaces || hasWildcard(literal) {
				continue // CEL compares texts as they are
			}
			if guard, found := overlapsAny(literal, s.config.GuardNamespaces); found {
				s.refuse(ReasonReachesGuard, c.path, fmt.Sprintf("the condition speaks of %q, a namespace that the guard lives in (%s)", literal, guard), "write it about the namespaces that need it")
			}
		}
	}
	if t := s.trial(); t != nil && len(s.found) == before {
		s.triedOnGuard(t)
	}
}

// triedOnGuard evaluates the conditions on a PolicyException, and on resources
// of a guard's namespace. They reach it when they are true there and not of an
// otherwise equal resource: of another kind, or of a namespace that nobody
// could have named.
func (s *subject) triedOnGuard(t *trial) {
	if t.reachesException() {
		s.refuse(ReasonReachesGuard, t.where(), "the match conditions are true of a PolicyException: an exception must not exempt exceptions from their checks",
			"write them about the resources that need it")
	}
	for _, pattern := range s.config.GuardNamespaces {
		namespace := strings.NewReplacer("*", "", "?", "x").Replace(pattern)
		if t.reachesInto(namespace) {
			s.refuse(ReasonReachesGuard, t.where(), fmt.Sprintf("the match conditions are true in %q, a namespace that the guard lives in (%s)", namespace, pattern),
				"write them about the namespaces that need it")
		} else if t.reachesNamespace(namespace) {
			s.refuse(ReasonReachesGuard, t.where(), fmt.Sprintf("the match conditions are true of the Namespace %q, which the guard lives in (%s)", namespace, pattern),
				"say which kind they are about too")
		}
	}
}

// reachesException tries PolicyExceptions with the names that the conditions
// speak of, in the namespaces that they speak of.
func (t *trial) reachesException() bool {
	for _, is := range exceptionSpecies {
		for _, name := range append([]word{t.persons[0].name}, t.words...) {
			for _, namespace := range append([]word{t.persons[0].namespace}, t.words...) {
				if t.tells(facts{species: is, name: name, namespace: namespace}, func(other *facts, nth int) { other.species = t.strange(nth) }) {
					return true
				}
			}
		}
	}
	return false
}

// reachesInto tries resources of a namespace.
func (t *trial) reachesInto(namespace string) bool {
	inside := slices.Clone(knownSpecies[namespaced])
	for _, kind := range t.kinds {
		if is := t.ofKind(kind, namespaced); is != nil && !slices.Contains(inside, is) {
			inside = append(inside, is)
		}
	}
	for _, is := range inside {
		for _, name := range append([]word{t.persons[0].name}, t.words...) {
			if t.tells(facts{species: is, name: name, namespace: t.known(namespace)}, func(other *facts, nth int) { other.namespace = t.persons[nth].namespace }) {
				return true
			}
		}
	}
	return false
}

// reachesNamespace tries a namespace itself.
func (t *trial) reachesNamespace(namespace string) bool {
	return t.tells(facts{species: namespaceSpecies, name: t.known(namespace)}, func(other *facts, nth int) { other.name = t.persons[nth].name })
}

// tells reports whether the conditions are true of a request about one resource,
// of any operation by any kind of requester, and not of the same about others.
// Several are tried, for one of them may happen to have the letters that a
// condition asks for.
func (t *trial) tells(one facts, differ func(other *facts, nth int)) bool {
	for _, one.operation = range allOperations {
		for _, requester := range allRequesters {
			one.sender = t.persons[0].sender(requester)
			if !t.holds(one) {
				continue
			}
			for nth := 1; nth < persons; nth++ {
				other := one
				differ(&other, nth)
				if !t.holds(other) && t.exhausted == nil {
					return true
				}
			}
		}
	}
	return false
}
