package shape

import (
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// exemptsNothing finds an exception that none of the repository's resources
// would use: the name is misspelt, the namespace is another, or what needed it
// is gone. It stays quiet for kinds that controllers make, since they are in no
// file, and where the exception's conditions cannot be evaluated.
func (s *subject) exemptsNothing(time.Time) {
	if s.config.Resources == nil || s.matcher().asks().made {
		return
	}
	if found := s.exempted(); found.Known && !found.Cut && found.Count == 0 {
		field := "match"
		if s.exc.Identity.Group == exception.PoliciesGroup {
			field = "matchConditions"
		}
		s.warn(ReasonExemptsNothing, exception.Path{"spec", field}, "none of the resources given would be exempt", "check kinds, names and namespaces, or remove the exception")
	}
}
