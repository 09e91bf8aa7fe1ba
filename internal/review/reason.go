package review

import "github.com/polex-dev/polex/pkg/exception"

// The reasons to reject a file because of its review. The list is closed.
const (
	ReasonNoPullRequest    = "no-pull-request"
	ReasonNotApproved      = "not-approved"
	ReasonClaimsReview     = "claims-review"
	ReasonUnrecordable     = "unrecordable"
	ReasonNoNewApprover    = "no-new-approver"
	ReasonApproversUnknown = "approvers-unknown"
)

// Reasons returns all of them.
func Reasons() []exception.Reason {
	return []exception.Reason{
		{Name: ReasonNoPullRequest, Doc: "approvals are required, and the commit that added the file does not belong " +
			"to a merged pull request"},
		{Name: ReasonNotApproved, Doc: "fewer people approved it than the configuration requires"},
		{Name: ReasonClaimsReview, Doc: "the request states its requester, approvers or pull request itself"},
		{Name: ReasonUnrecordable, Doc: "polex cannot write the record into the layout of the document"},
		{Name: ReasonNoNewApprover, Doc: "all approvers of the renewal also approved its predecessor"},
		{Name: ReasonApproversUnknown, Doc: "a renewal requires another approver, and the approvers of the " +
			"predecessor are unknown"},
	}
}

// UnknownError means that a fact of the review cannot be determined.
type UnknownError struct {
	What   string // untrusted text is quoted
	Advice string // a hint for the user; may be empty
	Err    error  // the cause; may be nil
}

// Error returns the missing fact and the cause.
func (e *UnknownError) Error() string {
	if e.Err == nil {
		return e.What
	}
	return e.What + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *UnknownError) Unwrap() error { return e.Err }

// Hint returns the advice, which may be empty.
func (e *UnknownError) Hint() string { return e.Advice }
