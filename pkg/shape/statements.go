package shape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// The categories of an exception, as polex.dev/category says them.
const (
	CategoryWaiver    = "waiver"    // the risk is accepted
	CategoryMitigated = "mitigated" // something else takes care of it
)

// Reasons of findings.
const (
	ReasonMissingReason   = "missing-reason"
	reasonMissingTicket   = "missing-ticket"
	reasonMissingOwner    = "missing-owner"
	reasonMissingCategory = "missing-category"
	reasonBadCategory     = "bad-category"
	reasonContradiction   = "contradiction"
)

var statementsCheck = check{
	Title: "Reason, ticket, owner and category",
	About: "Finds an exception that lacks a statement of `shape.require` (reason, ticket, owner or category), or " +
		"that states one of them in two places with different values. [Lifetime](#lifetime) covers two expiries.",
	Reasons: []Reason{
		{Name: ReasonMissingReason, Doc: "the exception states no reason"},
		{Name: reasonMissingTicket, Doc: "the exception states no ticket"},
		{Name: reasonMissingOwner, Doc: "the exception states no owner"},
		{Name: reasonMissingCategory, Doc: "the exception states no category (waiver or mitigated)"},
		{Name: reasonBadCategory, Doc: "the category is neither waiver nor mitigated"},
		{Name: reasonContradiction, Doc: "a field and an annotation state different values", Fixed: true},
	},
	Run: (*subject).statements,
}

func (s *subject) statements() {
	required := map[string]struct {
		said                     exception.Statement
		reason, message, example string
	}{
		RequireReason: {s.Said.Reason, ReasonMissingReason, "the exception does not say why it is needed", exception.AnnotationReason + ": what is in the way, and what follows"},
		RequireTicket: {s.Said.Ticket, reasonMissingTicket, "the exception names no ticket", exception.AnnotationTicket + ": SEC-123"},
		RequireOwner:  {s.Said.Owner, reasonMissingOwner, "the exception names no owner", exception.AnnotationOwner + ": team-a@example.com"},
		RequireCategory: {s.Said.Category, reasonMissingCategory, "the exception does not say whether the risk is accepted or dealt with otherwise",
			exception.AnnotationCategory + ": waiver, or mitigated"},
	}
	asked := s.config.Require
	if s.renews() {
		asked = slices.Compact(slices.Sorted(slices.Values(slices.Concat(asked, s.config.Renewals.Require))))
	}
	for _, what := range asked {
		if r := required[what]; strings.TrimSpace(r.said.Text) == "" {
			s.find(r.reason, exception.Path{"metadata", "annotations"}, r.message, "add the annotation "+r.example)
		}
	}
	if c := s.Said.Category; c.Text != "" && c.Text != CategoryWaiver && c.Text != CategoryMitigated {
		s.find(reasonBadCategory, c.Path, fmt.Sprintf("%q is neither %s nor %s", c.Text, CategoryWaiver, CategoryMitigated), "say waiver where the risk is accepted, and mitigated where something else takes care of it")
	}
	for _, c := range s.Said.Conflicts {
		s.find(reasonContradiction, c.Annotation.Path,
			fmt.Sprintf("%s says %q, and %s says %q", c.Annotation.Path, c.Annotation.Text, c.Native.Path, c.Native.Text), "keep one of the two")
	}
}
