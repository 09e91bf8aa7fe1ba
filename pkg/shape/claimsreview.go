package shape

import (
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonClaimsReview is a reason of findings.
const ReasonClaimsReview = "claims-review"

var claimsReviewCheck = check{
	About: `Finds a request that says itself who asked for it, who approved it or where: that is
recorded when it is signed, and nobody writes their own approval. polex-sign refuses to
promote such a request where a record is made, and signs none of those that wait with it.
polex-validate refuses it where promote.record says that one is made or approvals are asked
for, passes it where that is none, and warns of it elsewhere.`,
	Reasons: []Reason{{Name: ReasonClaimsReview, Doc: "the request states its requester, approvers or pull request itself", Severity: Warning}},
	Run:     (*subject).claimsReview,
}

func (s *subject) claimsReview() {
	if len(manifest.SignatureKeys(s.Doc)) > 0 {
		return // which is where a record belongs
	}
	for _, path := range exception.RecordPaths(s.Doc.GroupKind()) {
		if _, there := s.Doc.Lookup(path...); there {
			s.find(ReasonClaimsReview, path, fmt.Sprintf("the request says %s itself", path), "remove it: it is recorded when the exception is signed")
		}
	}
}
