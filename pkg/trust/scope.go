package trust

import (
	"fmt"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
)

// Scope is what a document covers, read once: what limits and lifetimes are
// held against.
type Scope struct {
	kind      exception.GroupKind
	namespace string
	policies  []policyRef
	reach     *kyverno.Exception // what it says of its resources; nil for another kind
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
	e.reach = kyverno.Read(doc)
	e.taken = takenBy(doc, said)
	for _, ref := range e.reach.Refs {
		e.policies = append(e.policies, policyRef{name: ref.Name.Text, anywhere: strings.HasPrefix(ref.Kind.Text, "Namespaced")})
	}
	return e
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
		return allowed.Include(r.name)
	}
	for _, pattern := range allowed {
		namespace, name, _ := strings.Cut(pattern, "/")
		if pattern == "*" || namespace == "*" && (names{name}).Include(r.name) {
			return true
		}
	}
	return false
}

// beyondExempted says which filter of an exception goes beyond these namespaces,
// or "".
func (e *Scope) beyondExempted(allowed names) string {
	if e.reach == nil {
		return fmt.Sprintf("a %s exempts nothing", e.kind)
	}
	filters := e.reach.Match.Filters()
	switch {
	case !e.reach.ByMatch:
		return "an exception of " + e.kind.Group + " cannot show which namespaces it reaches"
	case len(filters) == 0:
		return "it has no filter that names namespaces"
	}
	for _, f := range filters {
		if len(f.Namespaces) == 0 {
			return fmt.Sprintf("%s names no namespaces", f.Path)
		}
		for _, namespace := range f.Namespaces {
			if !allowed.Include(namespace.Text) {
				return fmt.Sprintf("%s exempts in %q", f.Path, namespace.Text)
			}
		}
	}
	for _, u := range e.reach.Unread {
		return fmt.Sprintf("%s is %s, expected %s", u.Path, u.Found, u.Expected)
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
		if ref.name == "" || wildcard.In(ref.name) || spoken.Include(ref.name) {
			return true
		}
		for _, pattern := range spoken {
			if _, name, has := strings.Cut(pattern, "/"); has && ref.anywhere && wildcard.Fits(name, ref.name) {
				return true
			}
		}
	}
	return len(e.policies) == 0
}

// standsIn reports whether a document stands in one of these namespaces, or may:
// one that says none is applied wherever somebody chooses.
func (e *Scope) standsIn(spoken names) bool { return e.namespace == "" || spoken.Include(e.namespace) }
