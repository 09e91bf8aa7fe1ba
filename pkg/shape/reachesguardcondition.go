package shape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
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
	kinds, words := spoken(t.conditions)
	if t.reachesException(words) {
		s.refuse(ReasonReachesGuard, t.where(), "the match conditions are true of a PolicyException: an exception must not exempt exceptions from their checks",
			"write them about the resources that need it")
	}
	for _, pattern := range s.config.GuardNamespaces {
		namespace := strings.NewReplacer("*", "", "?", "x").Replace(pattern)
		if t.reachesInto(namespace, kinds, words) {
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
func (t *trial) reachesException(words []string) bool {
	for _, group := range []string{exception.KyvernoGroup, exception.PoliciesGroup} {
		for _, name := range append([]string{t.next()}, words...) {
			for _, namespace := range append([]string{t.next()}, words...) {
				is := specimen{group: group, version: "v1", kind: exception.Kind, name: name, namespace: namespace, body: map[string]any{"spec": map[string]any{}}}
				if t.tells(is, func() specimen {
					isNot := is
					isNot.group, isNot.kind = t.next()+".example", t.kind()
					return isNot
				}) {
					return true
				}
			}
		}
	}
	return false
}

// reachesInto tries resources of a namespace.
func (t *trial) reachesInto(namespace string, kinds, words []string) bool {
	resources := slices.Clone(t.known[namespaced])
	for _, kind := range kinds {
		if alike := t.ofKind(kind, namespaced); len(alike) > 0 && !slices.ContainsFunc(resources, func(r specimen) bool { return r.kind == kind }) {
			resources = append(resources, alike[0])
		}
	}
	for _, inside := range resources {
		for _, name := range append([]string{t.next()}, words...) {
			inside.name, inside.namespace = name, namespace
			if t.tells(inside, func() specimen {
				outside := inside
				outside.namespace = t.next()
				return outside
			}) {
				return true
			}
		}
	}
	return false
}

// reachesNamespace tries a namespace itself.
func (t *trial) reachesNamespace(namespace string) bool {
	itself := specimen{version: "v1", kind: "Namespace", name: namespace}
	return t.tells(itself, func() specimen {
		another := itself
		another.name = t.next()
		return another
	})
}

// tells reports whether the conditions are true of a request about one resource
// and not of the same about others. Several are tried, for one of them may
// happen to have the letters that a condition asks for.
func (t *trial) tells(one specimen, other func() specimen) bool {
	one.made = one.object()
	for _, q := range t.requests() {
		if !t.holds(one, q) {
			continue
		}
		for range 3 {
			if !t.holds(other(), q) && t.exhausted == nil {
				return true
			}
		}
	}
	return false
}

// requests are one of every operation by every kind of requester. They are made
// once: it is the resources that change.
func (t *trial) requests() []request {
	if t.asked != nil {
		return t.asked
	}
	for _, operation := range allOperations {
		for _, requester := range allRequesters {
			t.asked = append(t.asked, t.request(class{operation: operation, requester: requester}))
		}
	}
	return t.asked
}
