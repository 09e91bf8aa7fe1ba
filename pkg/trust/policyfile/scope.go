package policyfile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
)

// Scope has the properties of a document that limits, lifetimes and renewals depend on.
type Scope struct {
	kind      exception.GroupKind
	namespace string
	reach     *kyverno.Exception // its policies and resources; nil for another kind
	expiresAt time.Time
	signedAt  time.Time         // stated in the message
	untimed   error             // the error if its times are unreadable
	renewal   exception.Renewal // that it states
	unread    error             // the error if its renewal is unreadable
	approvals int               // in its review record
}

// ScopeOf reads the scope of a document of any kind.
func (r *Rules) ScopeOf(doc *exception.Document) Scope {
	e := Scope{kind: doc.GroupKind(), namespace: doc.Text("metadata", "namespace")}
	if life, err := lifetime.Of(doc, r.Terms); err != nil {
		e.untimed = err
	} else {
		e.expiresAt, e.signedAt = life.ExpiresAt, life.SignedAt
	}
	if stated, ok := doc.Exception(); ok {
		e.reach, e.approvals = kyverno.Read(doc), len(doc.Approvals().Names)
		e.renewal, e.unread = stated.Renewal()
	}
	return e
}

// SignedAt returns the signing time that the message states, as confirmed by each of its signers.
// It is zero if the message states none or its times are unreadable.
func (e *Scope) SignedAt() time.Time { return e.signedAt }

// Renews reports whether the document states that it renews another one.
func (e *Scope) Renews() bool { return e.unread != nil || e.renewal.Number > 0 }

// beyondPolicies names a policy of an exception that is not in the list, or returns "".
func (e *Scope) beyondPolicies(allowed Names) string {
	switch {
	case !e.kind.IsException():
		return fmt.Sprintf("a %s is from no policy", e.kind)
	case len(e.reach.Refs) == 0:
		return "it names no policy"
	}
	for _, ref := range e.reach.Refs {
		if overlaps := beyondPolicy(ref, allowed); overlaps != "" {
			return overlaps
		}
	}
	return e.misread()
}

// beyondPolicy names a policy that a reference reaches and that is not in the list, or returns "".
func beyondPolicy(ref kyverno.Ref, allowed Names) string {
	name := ref.Name.Text
	inAnyNamespace := func(pattern string) bool {
		bare, is := strings.CutPrefix(pattern, "*/")
		return pattern == "*" || is && Names{bare}.Include(name)
	}
	switch {
	case ref.Namespaced() && !slices.ContainsFunc(allowed, inAnyNamespace):
		return fmt.Sprintf("it is from %q in any namespace, which %q would allow", name, "*/"+name)
	case allowed.Include(name):
		return ""
	case ref.Namespaced():
		return fmt.Sprintf("it is also from the cluster's policy %q: Kyverno ignores the kind of a policy reference "+
			"when it generates admission policies, so list %[1]q too", name)
	}
	return fmt.Sprintf("it is from %q", name)
}

// beyondExempted names a filter of an exception that reaches other namespaces, or returns "".
func (e *Scope) beyondExempted(allowed Names) string {
	if e.reach == nil {
		return fmt.Sprintf("a %s exempts nothing", e.kind)
	}
	filters := e.reach.Bounds()
	if len(filters) == 0 {
		return "it has no filter or condition that names namespaces"
	}
	for _, f := range filters {
		switch {
		case len(f.Namespaces) == 0 && e.reach.ByMatch:
			return fmt.Sprintf("%s names no namespaces", f.Path)
		case len(f.Namespaces) == 0:
			return fmt.Sprintf("%s names no namespaces in the form object.metadata.namespace in ['a', 'b']", f.Path)
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
func (e *Scope) isFrom(spoken Names) bool {
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
func (e *Scope) standsIn(spoken Names) bool { return e.namespace == "" || spoken.Include(e.namespace) }

// mayExempt reports whether an exception can exempt resources in one of these namespaces. It can if
// a filter or a condition names no namespaces, and if it has none.
func (e *Scope) mayExempt(namespaces Names) bool {
	if e.reach == nil {
		return false
	}
	filters := e.reach.Bounds()
	return len(filters) == 0 || e.misread() != "" || slices.ContainsFunc(filters, func(f kyverno.Filter) bool {
		return len(f.Namespaces) == 0 || slices.ContainsFunc(f.Namespaces, func(n kyverno.Located) bool {
			_, overlaps := wildcard.OverlapsAny(n.Text, namespaces)
			return overlaps
		})
	})
}

// outlasts says how a document exceeds a lifetime since its signing, or returns "".
func (e *Scope) outlasts(longest time.Duration, signed time.Time) string {
	switch {
	case e.untimed != nil:
		return "its times cannot be read: " + e.untimed.Error()
	case e.expiresAt.IsZero():
		return "it never expires"
	case signed.IsZero():
		return "its signing time is not proven, or only by evidence that can be recreated later"
	case e.expiresAt.Sub(signed) > longest:
		return fmt.Sprintf("it was signed at %s and expires at %s", signed.UTC().Format(time.RFC3339),
			e.expiresAt.UTC().Format(time.RFC3339))
	}
	return ""
}
