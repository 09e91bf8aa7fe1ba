package shape

import (
	"fmt"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/draft"
	"github.com/polex-dev/polex/pkg/shape/internal/manifest"
	"github.com/polex-dev/polex/pkg/shape/internal/wildcard"
)

// reachesGuard finds an exception that could switch off what decides about
// exceptions: it matches PolicyExceptions themselves, excepts from a policy
// that guards them, or reaches into a namespace that the guard lives in. No
// setting permits it.
func (s *subject) reachesGuard(time.Time) {
	s.reachesPolicy()
	if s.Exc.Identity.Group == exception.PoliciesGroup {
		s.reachesByCondition()
		return
	}
	for _, f := range s.AllFilters() {
		for _, k := range f.Kinds {
			if meansException(k.Text) {
				s.refuse(ReasonReachesGuard, k.Path, fmt.Sprintf("%q covers PolicyException: an exception must not exempt exceptions from their checks", k.Text),
					"list the kinds that need it")
			}
		}
		for _, n := range f.Namespaces {
			s.reachesNamespace(n)
		}
		if coversNamespaces(f) && len(f.Kinds) > 0 {
			for _, n := range f.Names {
				s.reachesNamespace(n)
			}
		}
	}
}

func (s *subject) reachesPolicy() {
	for _, ref := range s.Exc.Policies {
		field := "policyName"
		if s.Exc.Identity.Group == exception.PoliciesGroup {
			field = "name"
		}
		// A policy in a namespace is named namespace/name.
		namespace, name, namespaced := strings.Cut(ref.Name, "/")
		if !namespaced {
			name = ref.Name
		}
		if guard, found := wildcard.OverlapsAny(name, s.config.GuardPolicies); found {
			s.refuse(ReasonReachesGuard, ref.Path.With(field), fmt.Sprintf("%q is or fits a policy that guards exceptions (%s)", ref.Name, guard), "change the guard itself, in the open")
		} else if guard, found := wildcard.OverlapsAny(namespace, s.config.GuardNamespaces); found && namespaced {
			s.refuse(ReasonReachesGuard, ref.Path.With(field), fmt.Sprintf("the policy %q lives in a namespace of the guard (%s)", ref.Name, guard), "change the guard itself, in the open")
		}
	}
}

func (s *subject) reachesNamespace(n draft.Located) {
	if guard, found := wildcard.OverlapsAny(n.Text, s.config.GuardNamespaces); found {
		s.refuse(ReasonReachesGuard, n.Path, fmt.Sprintf("%q is or fits a namespace that the guard lives in (%s)", n.Text, guard), "name the namespaces that need it")
	}
}

// meansException reports whether an entry of kinds covers PolicyException as
// Kyverno reads it, or names it in a form that Kyverno would not read.
func meansException(kind string) bool {
	if manifest.ParseKind(kind).Covers(exception.Kind, exception.KyvernoGroup, exception.PoliciesGroup) {
		return true
	}
	for _, part := range strings.FieldsFunc(kind, func(r rune) bool { return r == '/' || r == '.' }) {
		if namesException(part) {
			return true
		}
	}
	return false
}

// namesException reports whether a word is one of the names that the kind goes
// by, in any case.
func namesException(word string) bool {
	switch strings.ToLower(word) {
	case "policyexception", "policyexceptions", "polex":
		return true
	}
	return false
}
