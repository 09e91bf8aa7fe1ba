package kyverno

import (
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
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
	maxConditions = 64
	maxExpression = 10_240 // bytes
	maxNesting    = 16     // of parentheses
)

// conditions asks about match conditions, each by itself.
func (a *asking) conditions(spec map[string]any) {
	path := exception.Path{"spec", "matchConditions"}
	items := a.list(spec["matchConditions"], path)
	switch {
	case len(items) > maxConditions:
		a.says(path, "write fewer", "there are %d conditions, and %d are read", len(items), maxConditions)
		return
	case len(items) == 0 && !a.onlyValues(spec):
		a.says(path, "write one, such as object.kind == 'Pod' && object.metadata.namespace == 'team-a'",
			"without match conditions, PolicyExceptions and the namespaces of the guard are exempt too")
		return
	}
	for i, item := range items {
		at := path.With(i)
		tree := a.mapping(item, at)
		at = at.With("expression")
		text, ok := tree["expression"].(string)
		if !ok {
			a.misread(at, "a text", tree["expression"])
			continue
		}
		told := len(a.ways)
		if all := a.condition(text, at); len(a.ways) == told {
			a.allows(all, at, len(items) > 1)
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
func (a *asking) onlyValues(spec map[string]any) bool {
	values := len(a.list(spec["images"], exception.Path{"spec", "images"})) + len(a.list(spec["allowedValues"], exception.Path{"spec", "allowedValues"}))
	refs, _ := spec["policyRefs"].([]any) // which were asked about
	for _, item := range refs {
		ref, _ := item.(map[string]any)
		if kind, _ := ref["kind"].(string); !slices.Contains(readsValues, kind) {
			return false
		}
	}
	return values > 0
}

// condition returns what one condition is about. A text in it that is a name of
// PolicyException or of a guarded namespace is told of by itself: there is no good
// reason to write it, whatever it does there.
func (a *asking) condition(expression string, path exception.Path) extents {
	const hint = "write it in the forms object.kind == 'Pod', object.metadata.namespace in ['a', 'b']"
	if len(expression) > maxExpression {
		a.says(path, hint, "the condition has %d bytes, and %d are read", len(expression), maxExpression)
		return only(extent{})
	}
	parts, err := tokens(expression)
	if err != nil {
		a.says(path, hint, "the condition cannot be read: %s", err)
		return only(extent{})
	}
	aboutNamespaces := strings.Contains(strings.ToLower(expression), "namespace")
	for _, t := range parts {
		if t.kind != literal {
			continue
		}
		if namesException(t.text) {
			a.says(path, "write it about the resources that need it", "the condition names %q: an exception must not exempt exceptions from their checks", t.text)
		} else if aboutNamespaces && !wildcard.In(t.text) { // CEL compares texts as they are
			if guarded, found := a.guard.HasNamespace(t.text); found {
				a.says(path, "write it about the namespaces that need it", "the condition names %q, a namespace that the guard lives in (%s)", t.text, guarded)
			}
		}
	}
	return a.extents(parts, maxNesting)
}
