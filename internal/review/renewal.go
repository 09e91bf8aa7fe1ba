package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// Renewals are additional requirements for the review of a renewal. The zero value requires
// nothing.
type Renewals struct {
	// RequireApprovals is the number of required approvals, at most 100. It is 0 or at least the
	// number for a first exception.
	RequireApprovals int
	// RequireNewApprover requires an approver who did not approve the predecessor. Then the same
	// person cannot extend an exception again and again.
	RequireNewApprover bool
}

func (r Renewals) asks() bool { return r.RequireApprovals > 0 || r.RequireNewApprover }

// Predecessor is the exception that a document renews or replaces.
type Predecessor struct {
	// Signed is the verified signed message of the predecessor. It never comes from the renewal
	// itself or from an unverified file. If it is nil, Unknown has the reason.
	Signed  *exception.Document
	Unknown string
}

// Renewal returns a refusal if the record of a renewal lacks a required approval, or nil. If the
// approvers of the predecessor are unknown, no approver counts as a new one.
func (r *Reviewer) Renewal(doc *exception.Document, record *Record, before Predecessor) *exception.Refusal {
	refuse := func(reason, message, hint string) *exception.Refusal {
		at := exception.Path{"metadata", "annotations", exception.AnnotationRenews}
		if doc.Annotation(exception.AnnotationRenews) == "" {
			at = exception.Path{"metadata", "name"} // it replaces the exception of its name
		}
		return &exception.Refusal{Position: doc.PositionOf(at), Reason: reason, Message: message, Hint: hint}
	}
	asked := r.config.Renewals
	if len(record.Approvers) < asked.RequireApprovals {
		return refuse(ReasonNotApproved, fmt.Sprintf("it renews another exception and has %d of %d required approvals",
			len(record.Approvers), asked.RequireApprovals),
			"propose it again, and have more people approve it")
	}
	if !asked.RequireNewApprover {
		return nil
	}
	approved, unknown := before.approvals(record.Source)
	if unknown != "" {
		return refuse(ReasonApproversUnknown,
			"it requires an approver besides those of the renewed exception, and those are not known: "+unknown,
			"remove it, and request a new exception instead of a renewal")
	}
	if slices.ContainsFunc(record.Approvers, func(who string) bool { return !approved.Has(who) }) {
		return nil
	}
	message := "nobody approved it"
	if len(record.Approvers) > 0 {
		message = "its approvers (" + strings.Join(record.Approvers, ", ") + ") approved its predecessor, too"
	}
	return refuse(ReasonNoNewApprover, message, "propose it again, and have it approved by another person than "+
		cmp.Or(strings.Join(approved.Names, ", "), "its requester"))
}

// approvals returns the approvers of the predecessor, or the reason why they are unknown. Records
// of different sources use different names, so one person could look like two.
func (p Predecessor) approvals(source Source) (approved exception.Approvals, unknown string) {
	if p.Signed == nil {
		return approved, cmp.Or(p.Unknown, "nobody has verified it")
	}
	switch approved = p.Signed.Approvals(); approved.From {
	case string(source):
		return approved, ""
	case "":
		return approved, "it was signed without a record of its review"
	default:
		return approved, fmt.Sprintf("its record is from %q, and this one's from %q", approved.From, source)
	}
}
