package shape

import (
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
)

const reasonSignaturePresent = "signature-present"

var signaturePresentCheck = check{
	About: "Finds the annotations of a signature. Either a signed file is in the wrong folder, or somebody copied " +
		"the annotations to make a draft look approved.",
	Reasons: []Reason{{Name: reasonSignaturePresent, Doc: "the document has the annotations of a signature",
		Fixed: true}},
	Run: (*subject).signaturePresent,
}

func (s *subject) signaturePresent() {
	keys := manifest.SignatureKeys(s.Doc)
	if len(keys) == 0 {
		return
	}
	s.find(reasonSignaturePresent, exception.Path{"metadata", "annotations", keys[0]},
		fmt.Sprintf("the annotation %q is part of a signature, and only a signed exception may have it", keys[0]),
		"remove the annotations under "+manifest.SignaturePrefix+"; to check a signed exception, use polex-verify")
}
