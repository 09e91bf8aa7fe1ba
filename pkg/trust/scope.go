package trust

import (
	"fmt"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
)

// Scope is what a document covers, read once: what limits and lifetimes are
// held against.
type Scope struct {
	kind      exception.GroupKind
	namespace string
	policies  []policyRef
	exempts   []filter // of a kyverno.io exception
	expiresAt time.Time
	signedAt  time.Time // as the message states it
	unread    error     // why its times cannot be read
	taken     taken     // what it says of an exception that it renews
}

// policyRef is a policy that an exception is from.
type policyRef struct {
	name string // <namespace>/<name> for one with a namespace
	// anywhere is set for a reference of policies.kyverno.io to a policy with a
	// namespace: it cannot say which, and is to that name in all of them.
	anywhere bool
}

// filter is one of a kyverno.io exception's filters.
type filter struct {
	path       exception.Path
	namespaces []any
}

// ScopeOf reads a document of any kind.
func ScopeOf(doc *exception.Document) Scope {
	e := Scope{kind: doc.GroupKind(), namespace: doc.Text("metadata", "namespace")}
	if life, err := lifetime.OfDocument(doc); err != nil {
		e.unread = err
	} else {
		e.expiresAt, e.signedAt = life.ExpiresAt, life.SignedAt
	}
	said, ok := doc.Exception()
	if !ok {
		return e
	}
	e.taken = takenBy(doc, said)
	for _, ref := range said.Policies {
		e.policies = append(e.policies, policyRef{name: ref.Name, anywhere: strings.HasPrefix(ref.Kind, "Namespaced")})
	}
	if e.kind.Group == exception.KyvernoGroup {
		e.exempts = append(filtersOf(doc, "any"), filtersOf(doc, "all")...)
	}
	return e
}

func filtersOf(doc *exception.Document, quantifier string) []filter {
	path := exception.Path{"spec", "match", quantifier}
	value, _ := doc.Lookup(path...)
	items, _ := value.([]any)
	filters := make([]filter, len(items))
	for i, item := range items {
		filters[i].path = path.With(i)
		tree, _ := item.(map[string]any)
		resources, _ := tree["resources"].(map[string]any)
		filters[i].namespaces, _ = resources["namespaces"].([]any)
	}
	return filters
}

// beyondPolicies says which policy of an exception is not one of these, or "".
func (e *Scope) beyondPolicies(allowed names) string {
	switch {
	case !e.kind.IsException():
		return fmt.Sprintf("a %s is from no policy", e.kind)
	case len(e.policies) == 0:
		return "it names no policy"
	}
	for _, ref := range e.policies {
		if !ref.within(allowed) {
			return fmt.Sprintf("it is from %q", ref.name)
		}
	}
	return ""
}

func (r policyRef) within(allowed names) bool {
	if !r.anywhere {
		return allowed.include(r.name)
	}
	for _, pattern := range allowed {
		namespace, name, _ := strings.Cut(pattern, "/")
		if pattern == "*" || namespace == "*" && (names{name}).include(r.name) {
			return true
		}
	}
	return false
}

// beyondExempted says which filter of an exception goes beyond these namespaces,
// or "".
func (e *Scope) beyondExempted(allowed names) string {
	switch {
	case !e.kind.IsException():
		return fmt.Sprintf("a %s exempts nothing", e.kind)
	case e.kind.Group != exception.KyvernoGroup:
		return "an exception of " + e.kind.Group + " cannot show which namespaces it reaches"
	case len(e.exempts) == 0:
		return "it has no filter that names namespaces"
	}
	for _, f := range e.exempts {
		if len(f.namespaces) == 0 {
			return fmt.Sprintf("%s names no namespaces", f.path)
		}
		for _, namespace := range f.namespaces {
			if name, ok := namespace.(string); !ok || !allowed.include(name) {
				return fmt.Sprintf("%s exempts in %q", f.path, fmt.Sprint(namespace))
			}
		}
	}
	return ""
}

// isFrom reports whether an exception is from one of these policies, or may be:
// what is a pattern, or cannot be read, may.
func (e *Scope) isFrom(spoken names) bool {
	if !e.kind.IsException() {
		return false
	}
	for _, ref := range e.policies {
		if ref.name == "" || strings.ContainsAny(ref.name, "*?") || spoken.include(ref.name) {
			return true
		}
		for _, pattern := range spoken {
			if _, name, has := strings.Cut(pattern, "/"); has && ref.anywhere && fits(name, ref.name) {
				return true
			}
		}
	}
	return len(e.policies) == 0
}

// standsIn reports whether a document stands in one of these namespaces, or may:
// one that says none is applied wherever somebody chooses.
func (e *Scope) standsIn(spoken names) bool { return e.namespace == "" || spoken.include(e.namespace) }
