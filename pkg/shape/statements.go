package shape

import (
	"fmt"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// statements finds an exception that does not say what it must (why it exists,
// its ticket, its owner), or says it twice in different words. An expiry said
// twice is for the check on lifetimes.
func (s *subject) statements(time.Time) {
	required := map[string]struct {
		said                     exception.Statement
		reason, message, example string
	}{
		RequireReason: {s.exc.Reason, ReasonMissingReason, "the exception does not say why it is needed", exception.AnnotationReason + ": what is in the way, and what follows"},
		RequireTicket: {s.exc.Ticket, ReasonMissingTicket, "the exception names no ticket", exception.AnnotationTicket + ": SEC-123"},
		RequireOwner:  {s.exc.Owner, ReasonMissingOwner, "the exception names no owner", exception.AnnotationOwner + ": team-a@example.com"},
	}
	for _, what := range s.config.Require {
		if r := required[what]; strings.TrimSpace(r.said.Text) == "" {
			s.refuse(r.reason, exception.Path{"metadata", "annotations"}, r.message, "add the annotation "+r.example)
		}
	}
	for _, c := range s.exc.Conflicts {
		if c.Annotation.Path[len(c.Annotation.Path)-1] == exception.AnnotationExpiresAt {
			continue
		}
		s.refuse(ReasonContradiction, c.Annotation.Path,
			fmt.Sprintf("%s says %q, and %s says %q", c.Annotation.Path, c.Annotation.Text, c.Native.Path, c.Native.Text), "keep one of the two")
	}
}
