package shape

import (
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
)

const reasonAlreadySealed = "already-sealed"

var alreadySealedCheck = check{
	About: `Finds a seal, whole or in parts: it is either out of place, or somebody copies one to make a
draft look approved.`,
	Reasons: []Reason{{Name: reasonAlreadySealed, Doc: "the document carries a seal, and what is validated is what people write", Fixed: true}},
	Run:     (*subject).alreadySealed,
}

func (s *subject) alreadySealed() {
	keys := manifest.SignatureKeys(s.Doc)
	if len(keys) == 0 {
		return
	}
	s.find(reasonAlreadySealed, exception.Path{"metadata", "annotations", keys[0]},
		fmt.Sprintf("the annotation %q belongs to a seal, and this is where drafts are checked", keys[0]),
		"remove the annotations under "+manifest.SignaturePrefix+", or check it with polex-verify")
}
