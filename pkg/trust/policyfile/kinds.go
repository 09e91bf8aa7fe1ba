package policyfile

import (
	"fmt"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

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
