package promotion

import (
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// ReasonMalformed rejects a file in addition to [pending.Reasons].
const ReasonMalformed = "malformed"

// ReasonKindNotAllowed rejects a document of a kind that is not in [Checks.Kinds].
const ReasonKindNotAllowed = verify.ReasonKindNotAllowed

// The reasons to reject a signed file from another job.
const (
	ReasonNotTheRequest  = "not-the-request"
	ReasonUnexpectedFile = "unexpected-file"
	ReasonSignedEarlier  = "signed-earlier"
	ReasonNotAtCommit    = "not-at-commit"
	ReasonNotSigned      = "not-signed" // with [Options.KeepGoing]
)

// The reasons to skip a file: another run promotes it or has promoted it.
const (
	ReasonChangedSince = "changed-since"
	ReasonGoneSince    = "gone-since"
)

// Reasons returns all of them.
func Reasons() []exception.Reason {
	return append(pending.Reasons(), []exception.Reason{
		{Name: ReasonKindNotAllowed, Doc: "the trust policy does not name the kind"},
		{Name: ReasonMalformed, Doc: "the document cannot be read unambiguously"},
		{Name: ReasonNotTheRequest, Doc: "the signed file is missing, or differs from the pending file"},
		{Name: ReasonUnexpectedFile, Doc: "the folder of signed files holds a file that its manifest does not name"},
		{Name: ReasonSignedEarlier, Doc: "the file was signed before it was requested"},
		{Name: ReasonNotAtCommit, Doc: "the commit of the run that signed the file lacks the request, and the trust " +
			"policy requires it"},
		{Name: ReasonNotSigned, Doc: "the folder of signed files lacks the file"},
		{Name: ReasonChangedSince, Doc: "the file or the configuration has changed, and the run of the newer commit " +
			"promotes it", Severity: exception.SeverityWarning},
		{Name: ReasonGoneSince, Doc: "the file was signed or removed by now", Severity: exception.SeverityWarning},
	}...)
}
