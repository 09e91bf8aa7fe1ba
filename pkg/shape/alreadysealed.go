package shape

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// sealPrefix begins the annotations of a seal.
const sealPrefix = "cosign.sigstore.dev/"

// alreadySealed finds a seal, whole or in parts: it is either out of place, or
// somebody copies one to make a draft look approved.
func (s *subject) alreadySealed(time.Time) {
	keys := s.sealKeys()
	if len(keys) == 0 {
		return
	}
	s.refuse(ReasonAlreadySealed, exception.Path{"metadata", "annotations", keys[0]},
		fmt.Sprintf("the annotation %q belongs to a seal, and this is where drafts are checked", keys[0]),
		"remove the annotations under "+sealPrefix+", or check it with polex-verify")
}

func (s *subject) sealKeys() []string {
	metadata, _ := s.tree["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	var keys []string
	for key := range annotations {
		if strings.HasPrefix(key, sealPrefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
