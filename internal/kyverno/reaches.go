package kyverno

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonReachesGuard is the reason of a finding or refusal that comes of [ReachesGuard].
const ReasonReachesGuard = "reaches-guard"

const exceptionKind = exception.Kind

var (
	exceptionGroups = []string{exception.KyvernoGroup, exception.PoliciesGroup}
	exceptionNames  = []string{"policyexception", "policyexceptions", "polex"} // in any case
	namespaceNames  = []string{"namespace", "namespaces", "ns"}
)

// Way is one way in which an exception reaches the guard.
type Way struct {
	Path          exception.Path
	Message, Hint string // Message quotes untrusted text
}

// maxWays bounds how many ways are told of one exception. It has no part in the
// answer.
const maxWays = 200

// Verdict is the answer of [ReachesGuard]. The zero value is that of an exception
// that reaches the guard.
type Verdict struct {
	clear bool
	ways  []Way
}

// Reaches reports whether the exception reaches the guard.
func (v Verdict) Reaches() bool { return !v.clear }

// Ways returns how it does, in the order of the document, at least one and 200 at
// most. It is nil when the exception does not.
func (v Verdict) Ways() []Way {
	if v.Reaches() && len(v.ways) == 0 {
		return []Way{{Message: "polex cannot show that the exception does not reach the guard"}}
	}
	return v.ways
}

// ReachesGuard reports whether an exception of either API group could switch off
// what decides about exceptions: it excepts from a policy that guards them, or it
// exempts PolicyExceptions, or resources in a namespace of the guard.
//
// It does not when, as far as the document says in plain words, none of its policies
// is guarded, each filter of its match and each of its match conditions requires kinds,
// namespaces or whole names by literals, and what it says of them leaves out the guard's.
// All else reaches: what requires none of these, what cannot be read, what has a type that
// was not expected, a match condition in a form that is not recognised (see conditions.go),
// and a document that is no PolicyException.
//
// Where all its policies are known to be ordinary (ordinary.go), no PolicyException and no
// Namespace is among what it exempts: labels or patterns of names are enough to require, and a
// match condition may look at all but the namespace in any form. Where the configuration admits
// it (admission.go), it may name the namespace kyverno.
func ReachesGuard(doc *exception.Document, guard Guard) Verdict {
	e := Read(doc)
	if e == nil {
		return Verdict{ways: []Way{{Message: fmt.Sprintf("a %q is not a PolicyException", doc.GroupKind().String())}}}
	}
	return e.ReachesGuard(guard)
}

// ReachesGuard is the function of that name, of an exception that is read.
func (e *Exception) ReachesGuard(guard Guard) Verdict {
	a := &asking{guard: guard, work: &wildcard.Meter{Left: maxWork}}
	a.exception(e)
	if a.work.Spent() {
		return Verdict{ways: []Way{{Path: e.ScopePath, Message: "the exception is too long to check", Hint: "write fewer names and shorter conditions, or several exceptions"}}}
	}
	return Verdict{clear: !a.reaches, ways: a.ways}
}

// maxWork bounds the work for one exception, for the guard answers about what anybody writes:
// its unit is a comparison of two characters. The largest exceptions that people write take a
// tenth of it. What takes more reaches the guard.
const maxWork = 5_000_000

// itemWork is what a name, a kind or a filter asks for, beside what it is compared with.
const itemWork = 256

// asking is one question on its way to its answer.
type asking struct {
	guard    Guard
	work     *wildcard.Meter
	ordinary bool // all policies of the exception are known to be
	admitted bool // in the namespace kyverno, for the part that is asked about
	reaches  bool
	ways     []Way
}

// says is the only place where an exception comes to reach the guard.
func (a *asking) says(path exception.Path, hint, format string, args ...any) {
	a.reaches = true
	if len(a.ways) < maxWays {
		a.ways = append(a.ways, Way{Path: path, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
}

// exception asks about all that an exception says.
func (a *asking) exception(e *Exception) {
	for _, u := range e.Unread {
		a.says(u.Path, "write it as the schema of the API requires", "expected %s, found %s: the exception cannot be read as a whole", u.Expected, u.Found)
	}
	a.refs(e.Refs)
	a.ordinary = len(e.Refs) > 0 && !slices.ContainsFunc(e.Refs, func(ref Ref) bool { return !a.guard.isOrdinary(ref) })
	if e.ByMatch {
		a.match(e)
	} else {
		a.conditions(e)
	}
}

// refs asks about the policies that the exception is from.
func (a *asking) refs(refs []Ref) {
	const hint = "list the policies by name, without those that guard exceptions"
	if !a.work.Spend(itemWork * len(refs)) {
		return
	}
	for _, ref := range refs {
		at, name := ref.Name.Path, ref.Name.Text
		if name == "" {
			a.says(at, "write the name of one policy", "expected the name of a policy, found none")
			continue
		}
		// A policy in a namespace is named namespace/name.
		namespace, bare, namespaced := strings.Cut(name, "/")
		if !namespaced {
			namespace, bare = "", name
		}
		if guarded, found := a.guard.HasPolicy(a.work, bare); found {
			a.says(at, hint, "%s a policy that guards exceptions: no exception may exempt from it", guardedName(name, guarded))
		} else if guarded, found := a.guard.HasNamespace(a.work, namespace); found && namespaced {
			a.says(at, hint, "the policy %q is in the guarded namespace %s: no exception may exempt from it", name, guarded)
		}
	}
}

// guardedName begins a sentence about a name that is guarded, or that fits a guarded one.
func guardedName(name, guarded string) string {
	if name == guarded {
		return fmt.Sprintf("%q is", name)
	}
	return fmt.Sprintf("%q matches %q,", name, guarded)
}
