package shape

import (
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// schema finds what the API server would refuse, drop or change. A malformed
// spec.expiresAt is left to the check on lifetimes, which says more about it.
func (s *subject) schema(time.Time) {
	for _, p := range s.config.Definitions.CheckSchema(s.Doc) {
		if p.Reason == exception.ProblemInvalidValue && p.Path.String() == "spec.expiresAt" {
			continue
		}
		s.refuse(p.Reason, p.Path, p.Message, p.Hint)
	}
}
