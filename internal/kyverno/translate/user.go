package translate

import (
	"fmt"
	"slices"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// byUser writes the subjects of a filter. The new form cannot express roles: Kyverno looks up the
// roles of a user, and a condition cannot.
func (t *translator) byUser(f kyverno.Filter) []string {
	for field, roles := range map[string][]kyverno.Located{"roles": f.Roles, "clusterRoles": f.ClusterRoles} {
		if len(roles) > 0 {
			t.note(f.Path.With(field), field+" have no counterpart: the request names its user, and not their roles",
				"name subjects: users, groups or service accounts")
		}
	}
	if len(f.Subjects) == 0 {
		return nil
	}
	if t.Background {
		t.note(f.Path.With("subjects"), "Kyverno rejects subjects in an exception for background scans, which have "+
			"no user", "write background: false first")
	}
	var either []string
	for _, s := range f.Subjects {
		switch s.Kind {
		case "User":
			either = append(either, "has(request.userInfo.username) && "+
				test("request.userInfo.username", s.Name, inFree))
		case "ServiceAccount":
			either = append(either, "has(request.userInfo.username) && "+
				test("request.userInfo.username", "system:serviceaccount:"+s.Namespace+":"+s.Name, inFree))
		case "Group":
			either = append(either, "has(request.userInfo.groups) && request.userInfo.groups.exists(g, "+
				test("g", s.Name, inFree)+")")
		default:
			t.note(s.Path.With("kind"), fmt.Sprintf("%q is not a kind of subject, and Kyverno matches nothing with it",
				s.Kind), "write User, Group or ServiceAccount")
		}
	}
	return []string{anyOf(either)}
}

// asksForUsers reports whether the match requires a user. A background scan has none, so the
// exception never applies there.
func (t *translator) asksForUsers() bool {
	asks := func(f kyverno.Filter) bool {
		return len(f.Subjects) > 0 && !slices.ContainsFunc(f.Subjects,
			func(s kyverno.Subject) bool { return s.Kind == "User" && wildcard.Fits(s.Name, "") })
	}
	anyOf, allOf := t.Match.Any, t.Match.All
	if len(anyOf) > 0 {
		return !slices.ContainsFunc(anyOf, func(f kyverno.Filter) bool { return !asks(f) })
	}
	return slices.ContainsFunc(allOf, asks)
}

// statementsOf are the annotations that become fields, by their keys in spec.properties.
var statementsOf = map[string]string{
	"reason":      exception.AnnotationReason,
	"ticket":      exception.AnnotationTicket,
	"approved-by": exception.AnnotationApprovedBy,
}
