package shape

import (
	"fmt"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
)

// ReasonBackgroundUserInfo is a reason of findings.
const ReasonBackgroundUserInfo = "background-user-info"

var backgroundUserInfoCheck = check{
	About: "Finds roles, clusterRoles or subjects in an exception that also applies to background scans. A " +
		"background scan has no request, so Kyverno's webhook rejects the exception. `background` is true by " +
		"default.",
	Reasons: []Reason{{Name: ReasonBackgroundUserInfo,
		Doc:   "the exception lists roles or subjects and applies to background scans, which Kyverno rejects",
		Fixed: true}},
	Run: (*subject).backgroundUserInfo,
}

func (s *subject) backgroundUserInfo() {
	if !s.Background {
		return
	}
	for _, f := range s.Match.Filters() {
		for _, of := range []struct {
			field string
			count int
		}{{"roles", len(f.Roles)}, {"clusterRoles", len(f.ClusterRoles)}, {"subjects", len(f.Subjects)}} {
			if of.count > 0 {
				s.find(ReasonBackgroundUserInfo, f.Path.With(of.field),
					of.field+" requires background: false, because a background scan has no request",
					"write background: false, or remove "+of.field)
			}
		}
	}
}

// ReasonBadUserInfo is a reason of findings.
const ReasonBadUserInfo = "bad-user-info"

var badUserInfoCheck = check{
	About: "Finds roles and subjects in a form that Kyverno's webhook rejects. A role is `namespace:name`. A subject " +
		"is a User, a Group, or a ServiceAccount with its namespace.",
	Reasons: []Reason{{Name: ReasonBadUserInfo, Doc: "Kyverno rejects the form of a role or subject", Fixed: true}},
	Run:     (*subject).badUserInfo,
}

func (s *subject) badUserInfo() {
	for _, f := range s.Match.Filters() {
		for _, role := range f.Roles {
			if strings.Count(role.Text, ":") != 1 {
				s.find(ReasonBadUserInfo, role.Path, fmt.Sprintf("%q is not a role in the form namespace:name",
					role.Text), "write it as namespace:name, e.g. team-a:admin")
			}
		}
		for _, person := range f.Subjects {
			s.badSubject(person)
		}
	}
}

func (s *subject) badSubject(person kyverno.Subject) {
	path := person.Path
	switch person.Kind {
	case "User", "Group":
	case "ServiceAccount":
		if person.Namespace == "" {
			s.find(ReasonBadUserInfo, path.With("namespace"), "the ServiceAccount has no namespace",
				"add its namespace")
		}
	default:
		s.find(ReasonBadUserInfo, path.With("kind"), fmt.Sprintf("%q is not a kind of subject", person.Kind),
			"write User, Group or ServiceAccount")
	}
	if person.Named && person.Name == "" {
		s.find(ReasonBadUserInfo, path.With("name"), "the subject has no name",
			"add the name of the user, group or service account")
	}
}
