package kyverno

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonReachesGuard is the reason of findings and rejections from [ReachesGuard].
const ReasonReachesGuard = "reaches-guard"

const exceptionKind = exception.Kind

var (
	exceptionGroups = []string{exception.KyvernoGroup, exception.PoliciesGroup}
	exceptionNames  = []string{"policyexception", "policyexceptions", "polex"} // in any case
	namespaceNames  = []string{"namespace", "namespaces", "ns"}
)

// Problem is a problem at a place in an exception, such as a way in which it reaches the guard.
type Problem struct {
	Path          exception.Path
	Message, Hint string // Message quotes untrusted text
}

// maxWays limits the reported ways of one exception. It does not affect the answer.
const maxWays = 200

// Verdict is the answer of [ReachesGuard]. Its zero value means that the exception reaches the guard.
type Verdict struct {
	clear bool
	ways  []Problem
}

// Reaches reports whether the exception reaches the guard.
func (v Verdict) Reaches() bool { return !v.clear }

// Ways returns 1 to 200 ways in the order of the document. It returns nil if the exception does not reach the guard.
func (v Verdict) Ways() []Problem {
	if v.Reaches() && len(v.ways) == 0 {
		return []Problem{{Message: "polex cannot show that the exception does not reach the guard"}}
	}
	return v.ways
}

// ReachesGuard reports whether an exception could switch off the protection against exceptions. Such an exception names
// a policy that guards exceptions, or exempts PolicyExceptions or resources in a namespace of the guard.
//
// An exception does not reach the guard if the document plainly shows all of this:
//
//   - None of its policies is guarded.
//   - Each filter and each match condition requires kinds, namespaces or whole names by literals.
//   - These literals exclude the objects of the guard.
//
// All other exceptions reach it, for example one with an unreadable value, a value of another type than its field, or a
// match condition in an unknown form. A document that is not a PolicyException reaches it too.
//
// If all policies are known to be ordinary (policyguards.go), the exception exempts no PolicyException and no
// Namespace. Then labels or patterns of names are sufficient, and match conditions may have any form unless they read
// the namespace. If the configuration admits it (guard.go), an exception may name the namespace kyverno.
func ReachesGuard(doc *exception.Document, guard Guard) Verdict {
	e := Read(doc)
	if e == nil {
		return Verdict{ways: []Problem{{Message: fmt.Sprintf("a %q is not a PolicyException",
			doc.GroupKind().String())}}}
	}
	return e.ReachesGuard(guard)
}

// ReachesGuard is the function ReachesGuard for an exception that has been read.
func (e *Exception) ReachesGuard(guard Guard) Verdict {
	a := &asking{guard: guard, work: &wildcard.Meter{Left: maxWork}}
	a.exception(e)
	if a.work.Spent() {
		return Verdict{ways: []Problem{{Path: e.ScopePath, Message: "the exception is too long to check",
			Hint: "write fewer names and shorter conditions, or several exceptions"}}}
	}
	return Verdict{clear: !a.reaches, ways: a.ways}
}

// maxWork limits the work for one exception, because the guard has to answer for input from
// anybody. The unit is one comparison of two characters. The largest exceptions that people write
// need a tenth of it. An exception beyond the limit reaches the guard.
const maxWork = 5_000_000

// itemWork is the work for a name, kind or filter, in addition to its comparisons.
const itemWork = 256

// asking is the state of one call of ReachesGuard.
type asking struct {
	guard    Guard
	work     *wildcard.Meter
	ordinary bool // all policies of the exception are known to be ordinary
	admitted bool // in the namespace kyverno, for the current part
	reaches  bool
	ways     []Problem
}

// says records a way. Only this function decides that an exception reaches the guard.
func (a *asking) says(path exception.Path, hint, format string, args ...any) {
	a.reaches = true
	if len(a.ways) < maxWays {
		a.ways = append(a.ways, Problem{Path: path, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
}

// exception checks the whole exception.
func (a *asking) exception(e *Exception) {
	for _, u := range e.Unread {
		a.says(u.Path, "write it as the schema of the API requires",
			"expected %s, found %s: the exception cannot be read as a whole", u.Expected, u.Found)
	}
	a.refs(e.Refs)
	a.ordinary = len(e.Refs) > 0 && !slices.ContainsFunc(e.Refs, func(ref Ref) bool { return !a.guard.isOrdinary(ref) })
	if e.ByMatch {
		a.match(e)
	} else {
		a.conditions(e)
	}
}

// refs checks the policies of the exception.
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
		// The name of a policy in a namespace is namespace/name.
		namespace, bare, namespaced := strings.Cut(name, "/")
		if !namespaced {
			namespace, bare = "", name
		}
		if guarded, found := a.guard.HasPolicy(a.work, bare); found {
			a.says(at, hint, "%s a policy that guards exceptions: no exception may exempt from it",
				guardedName(name, guarded))
		} else if guarded, found := a.guard.HasNamespace(a.work, namespace); found && namespaced {
			a.says(at, hint, "the policy %q is in the guarded namespace %s: no exception may exempt from it", name,
				guarded)
		}
	}
}

// guardedName returns the beginning of a sentence about a name that is or matches a guarded one.
func guardedName(name, guarded string) string {
	if name == guarded {
		return fmt.Sprintf("%q is", name)
	}
	return fmt.Sprintf("%q matches %q,", name, guarded)
}

// match checks the match of a kyverno.io exception. Each filter of match.any exempts alone; those of match.all exempt
// together. Kyverno ignores match.all if there is a match.any, but it is checked anyway.
func (a *asking) match(e *Exception) {
	m := e.Match
	filters := m.Filters()
	for i := range filters {
		if f := &filters[i]; !a.work.Spend(itemWork * (1 + len(f.Kinds) + len(f.Names) + len(f.Namespaces))) {
			return
		}
	}
	for _, f := range filters {
		a.nameSelector(f.NamespaceSelector)
		if f.CoversNamespaces() { // the labels of a Namespace contain its name
			a.nameSelector(f.Selector)
		}
	}
	for i := range m.Any {
		a.admitted = a.admits(e.Refs, m.Any[i:i+1])
		a.together(m.Any[i:i+1], m.Any[i].Path)
	}
	if len(m.All) > 0 {
		a.admitted = a.admits(e.Refs, m.All)
		a.together(m.All, exception.Path{"spec", "match", "all"})
	}
}

// nameOfNamespace is the label that the API server sets on every Namespace.
const nameOfNamespace = manifest.LabelOfNamespace

// nameSelector checks labels that select a namespace by its name.
func (a *asking) nameSelector(s *Selector) {
	if s == nil {
		return
	}
	if !a.work.Spend(itemWork * len(s.Labels)) {
		return
	}
	for _, key := range s.keys() {
		if name := s.Labels[key.Text]; a.work.Overlap(key.Text, nameOfNamespace) && name != "" {
			a.namespace(Located{name, key.Path})
		}
	}
	for _, e := range s.Expressions {
		if e.Key.Text != nameOfNamespace || e.Operator != "In" {
			continue // other operators exclude namespaces, or none
		}
		for _, name := range e.Values {
			a.namespace(name)
		}
	}
}

// together checks filters that a resource has to match together. The kinds and namespaces of each filter have to
// exclude those of the guard, even if another filter already does: no valid exception needs to name them. Filters that
// require no kind, namespace or whole name select the objects of the guard.
func (a *asking) together(filters []Filter, path exception.Path) {
	covered, namespaced, narrow := true, false, false
	for _, f := range filters {
		isWhole := !slices.ContainsFunc(f.Named(), func(n Located) bool { return wildcard.In(n.Text) })
		covered = covered && f.CoversNamespaces()
		namespaced = namespaced || len(f.Namespaces) > 0
		narrow = narrow || a.ordinary && (len(f.Named()) > 0 || f.Selector.Selects() ||
			f.NamespaceSelector.Selects()) || len(f.Kinds) > 0 || len(f.Namespaces) > 0 || len(f.Named()) > 0 && isWhole
	}
	if !narrow {
		a.says(path, "list the kinds, e.g. kinds: [Pod, Deployment]",
			"no kind, namespace or whole name is required, so PolicyExceptions are exempt too: an exception must not "+
				"exempt exceptions from their checks")
	}
	for _, f := range filters {
		for _, k := range f.Kinds {
			if meansException(k.Text) {
				a.says(k.Path, "list only the kinds that need the exception",
					"the kind %q matches PolicyException: an exception must not exempt exceptions from their checks",
					k.Text)
			}
		}
		for _, n := range f.Namespaces {
			a.namespace(n)
		}
		if !namespaced {
			for _, n := range f.Named() {
				a.object(n)
			}
		}
		// The name of a Namespace is the namespace of the objects in it.
		if f.CoversNamespaces() && len(f.Kinds) > 0 || covered && !namespaced {
			for _, n := range f.Named() {
				a.namespace(n)
			}
		}
	}
}

func (a *asking) namespace(n Located) {
	if n.Text == "" {
		a.says(n.Path, "list the namespaces that need the exception",
			"\"\" is not a namespace: it matches every cluster-scoped object, including the roles and definitions of "+
				"the guard")
	} else if guarded, found := a.hasNamespace(n.Text); found {
		a.says(n.Path, namespaceHint(n.Text, "list only the namespaces that need the exception"),
			"%s a guarded namespace: no exception may exempt objects in it", guardedName(n.Text, guarded))
	}
}

// object checks the name of an object that may be in any namespace.
func (a *asking) object(n Located) {
	if guarded, found := a.guard.hasObject(a.work, n.Text); found {
		a.says(n.Path, "list the namespaces that need the exception",
			"%s the name of an object of the guard: no exception may exempt it", guardedName(n.Text, guarded))
	}
}
