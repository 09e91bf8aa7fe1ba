package kyverno

import (
	"slices"
	"strings"
	"unicode"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// The match conditions of a policies.kyverno.io exception are CEL, written by a possible attacker. polex recognises
// them and does not evaluate them. A condition restricts only if it compares a known field with literals
// (restriction.go). If operators &&, || or ?: join its parts (tokens.go), this applies to the parts. For any other
// part, polex only determines the fields that it reads (reads.go): a part that reads the kind or the namespace in
// another form may select the objects of the guard. Kyverno applies an exception only if each condition is true. If one
// is an error, the policy itself may fail.
//
// An exception without conditions exempts every resource, so it reaches the guard. The only
// exceptions to this rule list images or values that their policies read themselves.

// Kubernetes allows 64 conditions. polex does not read conditions beyond these limits.
const (
	MaxConditions = 64
	maxExpression = 10_240 // bytes
	maxNesting    = 16     // of parentheses
)

// conditions checks each match condition separately.
func (a *asking) conditions(e *Exception) {
	// Kyverno copies these texts unescaped into a ValidatingAdmissionPolicy for every resource.
	for _, value := range slices.Concat(e.Images, e.AllowedValues) {
		if strings.ContainsFunc(value.Text,
			func(r rune) bool { return r == '\'' || r == '\\' || unicode.IsControl(r) }) {
			a.says(value.Path, "remove quotes, backslashes and control characters",
				"Kyverno copies %q into an expression, where it can end the text", value.Text)
		}
	}
	switch n := len(e.Conditions); {
	case n > MaxConditions:
		a.says(e.ScopePath, "write fewer conditions, or several exceptions",
			"the exception has %d conditions, and polex reads %d", n, MaxConditions)
		return
	case n == 0 && !e.OnlyValues():
		a.says(e.ScopePath, "add one, e.g. object.kind == 'Pod' && object.metadata.namespace == 'team-a'",
			"without match conditions, PolicyExceptions and the namespaces of the guard are exempt too")
		return
	}
	for _, c := range e.Conditions {
		if !c.IsText {
			continue // it is in Unread
		}
		a.admitted = len(a.guard.admitted) > 0 && a.admits(e.Refs, plainMatch(a.work, []string{c.Expression.Text}).Any)
		told := len(a.ways)
		if all := a.condition(c.Expression); len(a.ways) == told {
			a.allows(all, c.Expression.Path, len(e.Conditions) > 1)
		}
	}
}

// readsValues are the kinds of policies that read images and values themselves. For other kinds,
// some Kyverno versions exempt the whole resource.
var readsValues = []string{
	"ValidatingPolicy", "MutatingPolicy", "GeneratingPolicy", "NamespacedValidatingPolicy", "NamespacedMutatingPolicy",
	"NamespacedGeneratingPolicy",
}

// OnlyValues reports whether an exception exempts no whole resource: it lists images or values, and
// all its policies read these themselves.
func (e *Exception) OnlyValues() bool {
	return !slices.ContainsFunc(e.Refs, Ref.exemptsWhole) && len(e.Images)+len(e.AllowedValues) > 0
}

// exemptsWhole reports whether policies of the kind exempt whole resources, with any image.
func (r Ref) exemptsWhole() bool { return !slices.Contains(readsValues, r.Kind.Text) }

// WholeRefs returns the references to policies that ignore the images and values of the exception.
func (e *Exception) WholeRefs() (refs []Ref) {
	for _, ref := range e.Refs {
		if len(e.Images)+len(e.AllowedValues) > 0 && ref.exemptsWhole() {
			refs = append(refs, ref)
		}
	}
	return refs
}

// condition returns the coverage of one condition. A literal with a name of PolicyException or of a
// guarded namespace is a finding in any position: no valid condition needs it.
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
			a.says(path, "name only the resources that need the exception",
				"the condition names %q: an exception must not exempt exceptions from their checks", t.text)
		} else if aboutNamespaces && !wildcard.In(t.text) { // CEL compares texts literally
			if guarded, found := a.hasNamespace(t.text); found {
				a.says(path, namespaceHint(t.text, "name only the namespaces that need the exception"),
					"%s a guarded namespace: no exception may exempt objects in it", guardedName(t.text, guarded))
			}
		}
	}
	return a.reading().of(parts, maxNesting)
}

// A dimension is a property that conditions can restrict.
const (
	exceptions = iota // the kind, with respect to PolicyException
	namespaced        // the kind, with respect to Namespace
	namespaces
	names
	whole // a complete name, without a pattern
	dimensions
)

// mention is the effect of a condition on the guard's objects in one dimension. The zero value proves nothing.
type mention uint8

const (
	possible    mention = iota // it may select them
	unmentioned                // it does not restrict the dimension
	excluded                   // it cannot select them
)

// coverage is the effect of parts that && joins. The zero value may select everything.
type coverage [dimensions]mention

// silent is the coverage of a part that reads nothing.
var silent = coverage{unmentioned, unmentioned, unmentioned, unmentioned, unmentioned}

// and returns the coverage of two parts that are both true.
func (c coverage) and(other coverage) coverage {
	for i := range c {
		switch {
		case c[i] == excluded || other[i] == excluded:
			c[i] = excluded
		case c[i] == possible || other[i] == possible:
			c[i] = possible
		}
	}
	return c
}

// coverages are the coverages of alternatives without duplicates, at most 243. An empty list proves nothing.
type coverages []coverage

// both combines every alternative of one condition with every alternative of another.
func (a *asking) both(some, others coverages) coverages {
	if !a.work.Spend(len(some) * len(others) * tokenWork) {
		return coverages{{}}
	}
	var joined coverages
	for _, x := range some {
		for _, y := range others {
			joined = joined.or(coverages{x.and(y)})
		}
	}
	return joined
}

func (all coverages) or(others coverages) coverages {
	for _, c := range others {
		if !slices.Contains(all, c) {
			all = append(all[:len(all):len(all)], c)
		}
	}
	return all
}

// allows checks that each alternative of a condition excludes the objects of the guard.
func (a *asking) allows(all coverages, path exception.Path, others bool) {
	by, addKind, addNamespace := "this condition", "add the kinds as literals: object.kind == 'Pod', or object.kind "+
		"in ['Pod', 'Deployment']", "add the namespaces as literals: object.metadata.namespace == 'team-a'"
	if others {
		by = "this condition by itself"
		addKind = "join the conditions by && in one: in a policy that Kyverno generates, each exempts by itself"
		addNamespace = addKind
	}
	const orPolicies = "; or, if its policies do not match PolicyExceptions, add their files to directories.policies " +
		"of .polex.yaml and guard.policies of the guard"
	if len(all) == 0 {
		all = coverages{{}} // an empty list is no proof
	}
	for _, c := range all {
		switch {
		case !a.ordinary && c[exceptions] == possible:
			a.says(path, addKind+orPolicies, "%s may also exempt a PolicyException: an exception must not exempt "+
				"exceptions from their checks", by)
			return
		case c[namespaces] == possible:
			a.says(path, addNamespace, "%s may also exempt resources in a guarded namespace", by)
			return
		case c[names] == possible && c[namespaced] != excluded && c[namespaces] != excluded:
			a.says(path, addKind, "%s may also exempt a guarded Namespace", by)
			return
		case !a.ordinary && c[exceptions] != excluded && c[namespaces] != excluded && c[whole] != excluded:
			a.says(path, addKind+orPolicies, "%s requires no kind, namespace or whole name, so PolicyExceptions are "+
				"exempt too: an exception must not exempt exceptions from their checks", by)
			return
		}
	}
}
