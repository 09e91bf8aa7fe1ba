package trust

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// Scope has the properties of a document that limits and lifetimes depend on.
type Scope struct {
	kind      exception.GroupKind
	namespace string
	reach     *kyverno.Exception // its policies and resources; nil for another kind
	expiresAt time.Time
	signedAt  time.Time // stated in the message
	unread    error     // the error if its times are unreadable
	taken     taken     // the renewal that it states
}

// ScopeOf reads the scope of a document of any kind.
func (p *Policy) ScopeOf(doc *exception.Document) Scope {
	e := Scope{kind: doc.GroupKind(), namespace: doc.Text("metadata", "namespace")}
	if life, err := lifetime.Of(doc, p.rules.Terms); err != nil {
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
	return e
}

// beyondPolicies names a policy of an exception that is not in the list, or returns "".
func (e *Scope) beyondPolicies(allowed policyfile.Names) string {
	switch {
	case !e.kind.IsException():
		return fmt.Sprintf("a %s is from no policy", e.kind)
	case len(e.reach.Refs) == 0:
		return "it names no policy"
	}
	for _, ref := range e.reach.Refs {
		if found := beyondPolicy(ref, allowed); found != "" {
			return found
		}
	}
	return e.misread()
}

// beyondPolicy names a policy that a reference reaches and that is not in the list, or returns "".
func beyondPolicy(ref kyverno.Ref, allowed policyfile.Names) string {
	name := ref.Name.Text
	inAnyNamespace := func(pattern string) bool {
		bare, is := strings.CutPrefix(pattern, "*/")
		return pattern == "*" || is && policyfile.Names{bare}.Include(name)
	}
	switch {
	case ref.Namespaced() && !slices.ContainsFunc(allowed, inAnyNamespace):
		return fmt.Sprintf("it is from %q in any namespace, which %q would allow", name, "*/"+name)
	case allowed.Include(name):
		return ""
	case ref.Namespaced():
		return fmt.Sprintf("it is also from the cluster's policy %q: Kyverno ignores the kind of a policy reference when it generates admission policies, so list %[1]q too", name)
	}
	return fmt.Sprintf("it is from %q", name)
}

// beyondExempted names a filter of an exception that reaches other namespaces, or returns "".
func (e *Scope) beyondExempted(allowed policyfile.Names) string {
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
	return e.misread()
}

// misread names a value that has another type than its field, or returns "". The reach of such an
// exception is unknown.
func (e *Scope) misread() string {
	if len(e.reach.Unread) == 0 {
		return ""
	}
	u := e.reach.Unread[0]
	return fmt.Sprintf("%s is %s, expected %s", u.Path, u.Found, u.Expected)
}

// isFrom reports whether an exception names one of these policies, or may do so: a pattern or an
// unreadable reference may.
func (e *Scope) isFrom(spoken policyfile.Names) bool {
	if !e.kind.IsException() {
		return false
	}
	for _, ref := range e.reach.Refs {
		name := ref.Name.Text
		if name == "" || wildcard.In(name) || spoken.Include(name) {
			return true
		}
		for _, pattern := range spoken {
			if _, bare, has := strings.Cut(pattern, "/"); has && ref.Namespaced() && wildcard.Fits(bare, name) {
				return true
			}
		}
	}
	return len(e.reach.Refs) == 0 || e.misread() != ""
}

// standsIn reports whether a document is in one of these namespaces, or may be. A document without
// a namespace can be applied to any.
func (e *Scope) standsIn(spoken policyfile.Names) bool {
	return e.namespace == "" || spoken.Include(e.namespace)
}
