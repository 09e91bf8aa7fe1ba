package shape

import (
	"github.com/polex-dev/polex/internal/kyverno/match"
	"github.com/polex-dev/polex/pkg/exception"
)

const reasonExemptsNothing = "exempts-nothing"

var exemptsNothingCheck = check{
	About: `Finds an exception that none of the repository's resources would use: the name is misspelt,
the namespace is another, or what needed it is gone. Match conditions are evaluated on what
the files say, and what they cannot say counts as given. It stays quiet for kinds that
controllers make, since they are in no file, and where a condition does not compile.`,
	Reasons: []Reason{{Name: reasonExemptsNothing, Doc: "none of the resources given would be exempt", Severity: Warning}},
	Run:     (*subject).exemptsNothing,
}

func (s *subject) exemptsNothing() {
	if s.config.Resources == nil {
		return
	}
	m := s.matcher()
	if m == nil || m.Made() {
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
	s.find(reasonExemptsNothing, s.ScopePath, "none of the resources given would be exempt", "check kinds, names and namespaces, or remove the exception")
}
