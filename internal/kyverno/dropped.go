package kyverno

import (
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// Dropped returns the policies that an exception names before an update and not after it, and to
// which Kyverno 1.19.1 still applies the exception then. Kyverno looks only at the new state of an
// exception when it
//
//   - generates admission policies (enqueueException and enqueueCELException in
//     pkg/controllers/admissionpolicygenerator/polex.go)
//   - compiles a MutatingPolicy or an ImageValidatingPolicy (UpdateFunc in provider.go of
//     pkg/cel/policies/mpol/engine and ivpol/engine).
//
// The generator compares names and no kinds, so the other kinds of policies.kyverno.io count too. Of
// kyverno.io, it compiles no Policy, and no entry with several rules.
func Dropped(before, after *exception.Document) []string {
	old, changed := Read(before), Read(after)
	if old == nil || changed == nil {
		return nil
	}
	var dropped []string
	for _, ref := range old.Refs {
		is := func(other Ref) bool {
			return other.Name.Text == ref.Name.Text && other.Kind.Text == ref.Kind.Text && other.generates()
		}
		if ref.generates() && !slices.ContainsFunc(changed.Refs, is) {
			dropped = append(dropped, ref.Name.Text)
		}
	}
	return dropped
}

// KeepsDeleted reports whether Kyverno 1.19.1 still applies an exception after its deletion, because of
// the kind of a policy that it names.
func KeepsDeleted(doc *exception.Document) bool {
	e := Read(doc)
	return e != nil && slices.ContainsFunc(e.Refs, Ref.KeepsDeleted)
}

// KeepsDeleted reports whether Kyverno 1.19.1 still applies a deleted exception to the policy. When an
// exception changes, Kyverno looks for the policies that it names in no namespace (provider.go of
// pkg/cel/policies/vpol/engine, ivpol/engine and mpol/engine), and computes a policy with a namespace
// only when the policy itself changes. Of the other namespaced kinds, it reads the exceptions at each
// use.
func (r Ref) KeepsDeleted() bool {
	kinds := []string{"NamespacedValidatingPolicy", "NamespacedImageValidatingPolicy", "NamespacedMutatingPolicy"}
	return slices.Contains(kinds, r.Kind.Text)
}

// generates reports whether Kyverno looks for a generated admission policy when an exception with this
// reference changes.
func (r Ref) generates() bool {
	return r.Group != exception.KyvernoGroup || !strings.Contains(r.Name.Text, "/") && len(r.Rules) <= 1
}
