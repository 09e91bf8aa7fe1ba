package shape

import (
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonClaimsReview is a reason of findings.
const ReasonClaimsReview = "claims-review"

var claimsReviewCheck = check{
	About: "Finds a request that states its own requester, approvers or pull request. polex records them when it " +
		"signs. Where `polex-sign promote` makes a record, it refuses such a request, and all others with it.\n\n" +
		"polex-validate reports an error if the configuration requires approvals or `promote.record` always makes " +
		"a record. It reports nothing if `promote.record` is `none`, and a warning otherwise.",
	Reasons: []Reason{{Name: ReasonClaimsReview,
		Doc: "the request states its requester, approvers or pull request itself", Severity: Warning}},
	Run: (*subject).claimsReview,
}

func (s *subject) claimsReview() {
	if len(manifest.SignatureKeys(s.Doc)) > 0 {
		return // which is where a record belongs
	}
	for _, path := range exception.RecordPaths(s.Doc.GroupKind()) {
		if _, exists := s.Doc.Lookup(path...); exists {
			s.find(ReasonClaimsReview, path, fmt.Sprintf("a request must not state %s", path),
				"remove it: polex records it when it signs the exception")
		}
	}
}
