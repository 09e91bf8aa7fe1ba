package shape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// The categories of an exception, the values of polex.dev/category.
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
		statement       exception.Statement
		reason, example string
	}{
		RequireReason: {s.Stated.Reason, ReasonMissingReason, exception.AnnotationReason +
			": the vendor's image has no health endpoint"},
		RequireTicket: {s.Stated.Ticket, reasonMissingTicket, exception.AnnotationTicket + ": SEC-123"},
		RequireOwner:  {s.Stated.Owner, reasonMissingOwner, exception.AnnotationOwner + ": team-a@example.com"},
		RequireCategory: {s.Stated.Category, reasonMissingCategory, exception.AnnotationCategory +
			": waiver (the risk is accepted) or mitigated"},
	}
	names := s.config.Require
	if s.renews() {
		names = slices.Compact(slices.Sorted(slices.Values(slices.Concat(names, s.config.Rules.Renewals.Require))))
	}
	for _, what := range names {
		if r := required[what]; strings.TrimSpace(r.statement.Text) == "" {
			setting := "shape.require"
			if !slices.Contains(s.config.Require, what) {
				setting = "trust.renewals.require"
			}
			s.find(r.reason, exception.Path{"metadata", "annotations"},
				fmt.Sprintf("the exception states no %s (%s)", what, setting), "add the annotation, e.g. "+r.example)
		}
	}
	if c := s.Stated.Category; c.Text != "" && c.Text != CategoryWaiver && c.Text != CategoryMitigated {
		s.find(reasonBadCategory, c.Path,
			fmt.Sprintf("the category %q is neither %s nor %s", c.Text, CategoryWaiver, CategoryMitigated),
			"write waiver if the risk is accepted, or mitigated if another control covers it")
	}
	for _, c := range s.Stated.Conflicts {
		s.find(reasonContradiction, c.Annotation.Path,
			fmt.Sprintf("%s is %q, but %s is %q", c.Annotation.Path, c.Annotation.Text, c.Native.Path, c.Native.Text),
			"keep one of the two")
	}
}
