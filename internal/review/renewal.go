package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// Renewals is what is asked of the review of an exception that renews another,
// besides what is asked of any. It is asked for nothing where it is zero.
type Renewals struct {
	// RequireApprovals is how many people have to have approved it: 0, or no fewer
	// than of a first exception, and 100 at most.
	RequireApprovals int
	// RequireNewApprover asks for an approval by somebody who did not approve the
	// predecessor, so that nobody's own judgement is all that an exception lives on by.
	RequireNewApprover bool
}

func (r Renewals) asks() bool { return r.RequireApprovals > 0 || r.RequireNewApprover }

// Predecessor is what an exception takes up after: what it renews, or takes the place of.
type Predecessor struct {
	// Signed is the message that was signed, once somebody has verified it: never
	// what the renewal says of it, and never what merely lies in a folder. Nil is
	// not known, and Unknown says why.
	Signed  *exception.Document
	Unknown string
}

// Renewal refuses a renewal whose record lacks what is asked of one; nil is to refuse
// nothing. Where it is not known who approved the predecessor, nobody's approval is
// another's.
func (r *Reviewer) Renewal(doc *exception.Document, record *Record, before Predecessor) *exception.Refusal {
	refuse := func(reason, message, hint string) *exception.Refusal {
		at := exception.Path{"metadata", "annotations", exception.AnnotationRenews}
		if doc.Annotation(exception.AnnotationRenews) == "" {
			at = exception.Path{"metadata", "name"} // it takes the place of one of its name
		}
		return &exception.Refusal{Position: doc.PositionOf(at), Reason: reason, Message: message, Hint: hint}
	}
	asked := r.config.Renewals
	if len(record.Approvers) < asked.RequireApprovals {
		return refuse(ReasonNotApproved, fmt.Sprintf("it renews another exception and has %d of %d required approvals", len(record.Approvers), asked.RequireApprovals),
			"propose it again, and have more people approve it")
	}
	if !asked.RequireNewApprover {
		return nil
	}
	approved, unknown := before.approvals(record.Source)
	if unknown != "" {
		return refuse(ReasonApproversUnknown, "it requires an approver besides those of the renewed exception, and those are not known: "+unknown,
			"withdraw it, and request a first exception anew, which is decided by itself")
	}
	if slices.ContainsFunc(record.Approvers, func(who string) bool { return !approved.Has(who) }) {
		return nil
	}
	message := "nobody approved it"
	if len(record.Approvers) > 0 {
		message = "its approvers (" + strings.Join(record.Approvers, ", ") + ") approved its predecessor, too"
	}
	return refuse(ReasonNoNewApprover, message, "propose it again, and have it approved by somebody else than "+cmp.Or(strings.Join(approved.Names, ", "), "its requester"))
}

// approvals returns who approved the predecessor, or why that is not known. A record
// from another source names people otherwise, so that one person would look like two.
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
