package policyfile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Limits are the documents that an authority may sign, or that a [Lifetime] is about; nil sets no limit.
type Limits struct {
	Kinds                          *Kinds
	KindNames                      Names
	Namespaces, Exempted, Policies Names
}

func newLimits(c Selectors) (l Limits, err error) {
	l.KindNames = slices.Clone(c.Kinds)
	if l.Kinds, err = newKindsIn(c.Kinds); err != nil {
		return l, err
	}
	for _, list := range []struct {
		into  *Names
		key   string
		names []string
		form  *regexp.Regexp
	}{
		{&l.Namespaces, "namespaces", c.Namespaces, wildcard.NamespaceForm},
		{&l.Exempted, "exemptedNamespaces", c.ExemptedNamespaces, wildcard.NamespaceForm},
		{&l.Policies, "policies", c.Policies, policyForm},
	} {
		if *list.into, err = newNames(list.key, list.names, list.form); err != nil {
			return l, err
		}
	}
	return l, nil
}

// none reports whether nothing is selected.
func (c Selectors) none() bool {
	return c.Kinds == nil && c.Namespaces == nil && c.ExemptedNamespaces == nil && c.Policies == nil
}

// Exceeded names the first limit that a document exceeds and the found value, or returns "".
func (l *Limits) Exceeded(e Scope) string {
	if l.Kinds != nil && !l.Kinds.Allow(e.kind) {
		return fmt.Sprintf("its limits.kinds are %s, and it is a %q", l.KindNames, e.kind.String())
	}
	if l.Namespaces != nil && !l.Namespaces.Include(e.namespace) {
		return fmt.Sprintf("its limits.namespaces are %s, and it is in %q", l.Namespaces, e.namespace)
	}
	if l.Policies != nil {
		if excess := e.beyondPolicies(l.Policies); excess != "" {
			return fmt.Sprintf("its limits.policies are %s, and %s", l.Policies, excess)
		}
	}
	if l.Exempted != nil {
		if excess := e.beyondExempted(l.Exempted); excess != "" {
			return fmt.Sprintf("its limits.exemptedNamespaces are %s, and %s", l.Exempted, excess)
		}
	}
	return ""
}

// check returns an error for limits that exclude all accepted kinds of the policy.
func (l *Limits) check(spoken Kinds) error {
	if l.Kinds != nil && !l.Kinds.meet(spoken) {
		return fmt.Errorf("limits: the kinds %s are not in the trust policy (kinds)", l.KindNames)
	}
	allows := func(gk exception.GroupKind) bool { return spoken.Allow(gk) && (l.Kinds == nil || l.Kinds.Allow(gk)) }
	if (l.Exempted != nil || l.Policies != nil) && !slices.ContainsFunc(kyverno.Kinds(), allows) {
		return errors.New("limits: policies and exemptedNamespaces are of exceptions, which are not among the kinds")
	}
	return nil
}

// Kinds are the kinds that a policy accepts. The zero value accepts none.
type Kinds struct {
	any     bool
	allowed map[exception.GroupKind]bool
}

// NewKinds reads kinds written as Kind.group. An empty list means PolicyException of both groups,
// and "*" any kind. It returns an error for any other wildcard and for a version.
func NewKinds(kinds []string) (Kinds, error) {
	k := Kinds{allowed: map[exception.GroupKind]bool{}}
	if len(kinds) == 0 {
		for _, kind := range kyverno.Kinds() {
			k.allowed[kind] = true
		}
	}
	for _, text := range kinds {
		if text == "*" {
			k.any = true
			continue
		}
		kind, group, _ := strings.Cut(text, ".")
		if kind == "" || strings.ContainsAny(text, "*?/ ") {
			return Kinds{}, fmt.Errorf("kind %q is not written as Kind.group, such as PolicyException.kyverno.io", text)
		}
		k.allowed[exception.GroupKind{Group: group, Kind: kind}] = true
	}
	return k, nil
}

// Allow reports whether the kind is accepted.
func (k Kinds) Allow(gk exception.GroupKind) bool { return k.any || k.allowed[gk] }

// meet reports whether both accept a common kind.
func (k Kinds) meet(other Kinds) bool {
	if k.any || other.any {
		return true
	}
	for gk := range k.allowed {
		if other.allowed[gk] {
			return true
		}
	}
	return false
}
