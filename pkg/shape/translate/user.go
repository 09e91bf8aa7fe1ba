package translate

import (
	"fmt"
	"slices"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/draft"
)

// byUser writes the subjects of a filter. Roles have no counterpart: Kyverno
// looks up which ones a user has, and a condition cannot.
func (t *translator) byUser(f draft.Filter) []string {
	for _, field := range []string{"roles", "clusterRoles"} {
		if roles, _ := f.Tree[field].([]any); len(roles) > 0 {
			t.note(f.Path.With(field), field+" have no counterpart: the request says who its user is, and not which roles they have", "name subjects: users, groups or service accounts")
		}
	}
	subjects := subjectsOf(f)
	if len(subjects) == 0 {
		return nil
	}
	if !t.onlyAtAdmission() {
		t.note(f.Path.With("subjects"), "Kyverno refuses subjects in an exception for background scans, which know no user", "write background: false first")
	}
	var either []string
	for i, s := range subjects {
		at := f.Path.With("subjects").With(i)
		switch s.kind {
		case "User":
			either = append(either, "has(request.userInfo.username) && "+test("request.userInfo.username", s.name, inFree))
		case "ServiceAccount":
			either = append(either, "has(request.userInfo.username) && "+test("request.userInfo.username", "system:serviceaccount:"+s.namespace+":"+s.name, inFree))
		case "Group":
			either = append(either, "has(request.userInfo.groups) && request.userInfo.groups.exists(g, "+test("g", s.name, inFree)+")")
		default:
			t.note(at.With("kind"), fmt.Sprintf("%q is no kind of subject, and Kyverno matches nothing with it", s.kind), "write User, Group or ServiceAccount")
		}
	}
	return []string{anyOf(either)}
}

type subjectRef struct{ kind, name, namespace string }

func subjectsOf(f draft.Filter) []subjectRef {
	items, _ := f.Tree["subjects"].([]any)
	var found []subjectRef
	for _, item := range items {
		entry, _ := item.(map[string]any)
		var s subjectRef
		s.kind, _ = entry["kind"].(string)
		s.name, _ = entry["name"].(string)
		s.namespace, _ = entry["namespace"].(string)
		found = append(found, s)
	}
	return found
}

// asksForUsers reports whether the match takes nothing without a user, as in a
// background scan. Then it is all the same whether the exception counts there.
func (t *translator) asksForUsers() bool {
	asks := func(f draft.Filter) bool {
		subjects := subjectsOf(f)
		return len(subjects) > 0 && !slices.ContainsFunc(subjects, func(s subjectRef) bool { return s.kind == "User" && fitsPattern(s.name, "") })
	}
	anyOf, allOf := t.Filters("any"), t.Filters("all")
	if len(anyOf) > 0 {
		return !slices.ContainsFunc(anyOf, func(f draft.Filter) bool { return !asks(f) })
	}
	return slices.ContainsFunc(allOf, asks)
}

// statementsOf are the annotations that have a field of their own in the new
// form, by the key of spec.properties.
var statementsOf = map[string]string{
	"reason":      exception.AnnotationReason,
	"ticket":      exception.AnnotationTicket,
	"approved-by": exception.AnnotationApprovedBy,
}
