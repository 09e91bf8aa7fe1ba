package kyverno

import (
	"slices"
	"strings"
	"unicode"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// The match conditions of a policies.kyverno.io exception are CEL, and hostile. They
// are recognised and not evaluated: a condition restricts only if it is, or if its
// parts joined by &&, || and ?: are (parts.go), a comparison of a known field with
// literals (restriction.go). Of any other part it is only asked what it reads
// (reads.go): one that looks at the kind or the namespace in another way may be there
// to find the guard's. Kyverno takes an exception for a match only if each condition
// evaluates to true. Where one is an error, the policy itself may fail.
//
// Without conditions an exception is for every resource, in plain sight, and does not
// reach the guard any more than a kyverno.io exception without kinds: whether that may
// be is for the check matches-everything.

// Kubernetes takes 64 conditions. What is longer or deeper than these is not read.
const (
	MaxConditions = 64
	maxExpression = 10_240 // bytes
	maxNesting    = 16     // of parentheses
)

// conditions asks about match conditions, each by itself.
func (a *asking) conditions(e *Exception) {
	// Kyverno writes these into the text of a ValidatingAdmissionPolicy as they stand, for
	// every resource.
	for _, value := range slices.Concat(e.Images, e.AllowedValues) {
		if strings.ContainsFunc(value.Text, func(r rune) bool { return r == '\'' || r == '\\' || unicode.IsControl(r) }) {
			a.says(value.Path, "remove quotes, backslashes and control characters", "Kyverno copies %q into an expression, where it can end the text", value.Text)
		}
	}
	switch n := len(e.Conditions); {
	case n > MaxConditions:
		a.says(e.ScopePath, "write fewer conditions, or several exceptions", "the exception has %d conditions, and polex reads %d", n, MaxConditions)
		return
	case n == 0 && !e.onlyValues():
		a.says(e.ScopePath, "add one, e.g. object.kind == 'Pod' && object.metadata.namespace == 'team-a'",
			"without match conditions, PolicyExceptions and the namespaces of the guard are exempt too")
		return
	}
	for _, c := range e.Conditions {
		if !c.IsText {
			continue // told already
		}
		a.admitted = len(a.guard.admitted) > 0 && a.admits(e.Refs, plainMatch(a.work, []string{c.Expression.Text}).Any)
		told := len(a.ways)
		if all := a.condition(c.Expression); len(a.ways) == told {
			a.allows(all, c.Expression.Path, len(e.Conditions) > 1)
		}
	}
}

// readsValues are the kinds of policies that an exception with images or values only
// hands these to. Of other kinds, some versions of Kyverno exempt the whole resource.
var readsValues = []string{
	"ValidatingPolicy", "MutatingPolicy", "GeneratingPolicy", "NamespacedValidatingPolicy", "NamespacedMutatingPolicy", "NamespacedGeneratingPolicy",
}

// onlyValues reports whether an exception exempts nothing as a whole: it names images or
// values, which its policies look up themselves.
func (e *Exception) onlyValues() bool {
	whole := slices.ContainsFunc(e.Refs, func(ref Ref) bool { return !slices.Contains(readsValues, ref.Kind.Text) })
	return !whole && len(e.Images)+len(e.AllowedValues) > 0
}

// condition returns what one condition is about. A text in it that is a name of
// PolicyException or of a guarded namespace is told of by itself: there is no good
// reason to write it, whatever it does there.
func (a *asking) condition(c Located) coverages {
	expression, path := c.Text, c.Path
	const hint = "write it in the forms object.kind == 'Pod', object.metadata.namespace in ['a', 'b']"
	if len(expression) > maxExpression {
		a.says(path, hint, "the condition has %d bytes, and polex reads %d", len(expression), maxExpression)
		return coverages{{}}
	}
	parts, err := tokens(a.work, expression)
	if err != nil {
		a.says(path, hint, "the condition cannot be read: %s", err)
		return coverages{{}}
	}
	aboutNamespaces := strings.Contains(strings.ToLower(expression), "namespace")
	for _, t := range parts {
		if t.kind != literal {
			continue
		}
		if namesException(t.text) {
			a.says(path, "name only the resources that need the exception", "the condition names %q: an exception must not exempt exceptions from their checks", t.text)
		} else if aboutNamespaces && !wildcard.In(t.text) { // CEL compares texts as they are
			if guarded, found := a.hasNamespace(t.text); found {
				a.says(path, namespaceHint(t.text, "name only the namespaces that need the exception"), "%s a guarded namespace: no exception may exempt objects in it", guardedName(t.text, guarded))
			}
		}
	}
	return a.reading().of(parts, maxNesting)
}
