package verify

import (
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/verify"
)

// detached verifies a document without a signature of its own by the bundle in another file, and adds the result to
// the report.
func (r *run) detached(in cli.Inputs) {
	bundle, err := cli.ReadFile(r.bundle)
	if err != nil {
		in.Unreadable(r.bundle, err)
		return
	}
	doc, source := in.Whole()
	if doc == nil {
		return
	}
	verified, err := r.verifier.VerifyDetached(source, bundle, r.now)
	r.special = detachedHints
	r.settle(doc, r.answer(doc, verified, err))
}

// detachedHints replace the hints for signed documents.
var detachedHints = map[string]string{
	verify.ReasonBadMessage: "verify a signed document without --bundle",
	verify.ReasonMalformedSignature: "make the bundle with polex-sign --bundle, or with cosign sign-blob --bundle " +
		"(cosign 3)",
	verify.ReasonEvidenceMismatch: "the bundle signs other bytes: restore the file that was signed, or find its " +
		"bundle; verify a signed document without --bundle",
}
