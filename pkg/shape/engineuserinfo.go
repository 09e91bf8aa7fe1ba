package shape

import (
	"fmt"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/draft"
)

// ReasonBackgroundUserInfo is a reason of findings.
const ReasonBackgroundUserInfo = "background-user-info"

var backgroundUserInfoCheck = check{
	Title: "Background user info",
	About: `Finds an exception for requests of certain people that is also meant for background scans,
where there is no request. Kyverno's webhook refuses it; background is true where it is not
said.`,
	Reasons: []Reason{
		{ReasonBackgroundUserInfo, "Kyverno would refuse roles or subjects in an exception that is for background scans too", true},
	},
	Run: (*subject).backgroundUserInfo,
}

func (s *subject) backgroundUserInfo(time.Time) {
	if background, said := s.Spec()["background"].(bool); said && !background {
		return
	}
	for _, f := range s.AllFilters() {
		for _, field := range []string{"roles", "clusterRoles", "subjects"} {
			if items, _ := f.Tree[field].([]any); len(items) > 0 {
				s.refuse(ReasonBackgroundUserInfo, f.Path.With(field), "Kyverno knows no "+field+" in a background scan, and this exception is for background scans too",
					"write background: false, or match by what the resource is")
			}
		}
	}
}

// ReasonBadUserInfo is a reason of findings.
const ReasonBadUserInfo = "bad-user-info"

var badUserInfoCheck = check{
	Title: "Bad user info",
	About: `Finds roles and subjects in a form that Kyverno's webhook refuses: a role is namespace:name,
and a subject is a User, a Group or, in a namespace, a ServiceAccount.`,
	Reasons: []Reason{
		{ReasonBadUserInfo, "Kyverno would refuse the form of a role or subject", true},
	},
	Run: (*subject).badUserInfo,
}

func (s *subject) badUserInfo(time.Time) {
	for _, f := range s.AllFilters() {
		for _, role := range draft.TextsOf(f.Tree["roles"], f.Path.With("roles")) {
			if strings.Count(role.Text, ":") != 1 {
				s.refuse(ReasonBadUserInfo, role.Path, fmt.Sprintf("%q is not a role's namespace and name", role.Text), "write it as namespace:name")
			}
		}
		subjects, _ := f.Tree["subjects"].([]any)
		for i, item := range subjects {
			if person, isMapping := item.(map[string]any); isMapping {
				s.badSubject(person, f.Path.With("subjects").With(i))
			}
		}
	}
}

func (s *subject) badSubject(person map[string]any, path exception.Path) {
	switch kind, _ := person["kind"].(string); kind {
	case "User", "Group":
	case "ServiceAccount":
		if namespace, _ := person["namespace"].(string); namespace == "" {
			s.refuse(ReasonBadUserInfo, path.With("namespace"), "a ServiceAccount lives in a namespace, and none is named", "add its namespace")
		}
	default:
		s.refuse(ReasonBadUserInfo, path.With("kind"), fmt.Sprintf("%q is no kind of subject", kind), "write User, Group or ServiceAccount")
	}
	if name, isText := person["name"].(string); isText && name == "" {
		s.refuse(ReasonBadUserInfo, path.With("name"), "the subject has no name", "name who needs the exception")
	}
}
