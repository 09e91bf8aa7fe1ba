package shape

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/draft"
)

// alreadySealed finds a seal, whole or in parts: it is either out of place, or
// somebody copies one to make a draft look approved.
func (s *subject) alreadySealed(time.Time) {
	keys := s.SealKeys()
	if len(keys) == 0 {
		return
	}
	s.refuse(ReasonAlreadySealed, exception.Path{"metadata", "annotations", keys[0]},
		fmt.Sprintf("the annotation %q belongs to a seal, and this is where drafts are checked", keys[0]),
		"remove the annotations under "+draft.SealPrefix+", or check it with polex-verify")
}
