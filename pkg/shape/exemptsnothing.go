package shape

import (
	"github.com/polex-dev/polex/internal/kyverno/match"
	"github.com/polex-dev/polex/pkg/exception"
)

const reasonExemptsNothing = "exempts-nothing"

var exemptsNothingCheck = check{
	About: "Needs the resources (`--resources`). Finds an exception that would exempt none of them. polex reports " +
		"nothing if files cannot tell: for kinds that controllers create, for conditions that are not plain " +
		"comparisons, and for conditions on policies that mutate, generate or delete.",
	Reasons: []Reason{{Name: reasonExemptsNothing, Doc: "none of the given resources would be exempt",
		Severity: Warning}},
	Run: (*subject).exemptsNothing,
}

func (s *subject) exemptsNothing() {
	if s.config.Resources == nil {
		return
	}
	m := s.matcher()
	if m == nil || m.MoreThanFiles() {
		return
	}
	exempts := false
	cut := match.Each(s.config.Resources, m, func(exception.Identity, match.Assumptions) bool {
		exempts = true
		return false
	})
	if exempts || cut {
		return
	}
	s.find(reasonExemptsNothing, s.ScopePath, "the exception would exempt none of the given resources",
		"check kinds, names and namespaces, or remove the exception")
}
