package validate

import (
	"fmt"
	"iter"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/internal/promotion/renewal"
	"github.com/polex-dev/polex/pkg/exception"
)

// reasonApproversUnknown and [pending.ReasonNotARenewal] are reasons of polex-sign to reject a
// renewal, which blocks all other pending exceptions. polex-validate reports them in the pull
// request, as far as the live exceptions show them.
const reasonApproversUnknown = "approvers-unknown"

// renewals are the valid documents that renew others. They are compared with the live exceptions
// after all documents were read.
type renewals struct {
	newApprover bool // required by trust.renewals
	kept        []kept
}

type kept struct {
	doc     *exception.Document
	before  exception.Identity
	passed  cli.Result
	problem error // nil after one of the live exceptions matches
	live    *exception.Document
}

// keep keeps a document that renews another, and reports whether it did.
func (r *renewals) keep(doc *exception.Document, passed cli.Result) bool {
	e, ok := doc.Exception()
	if r == nil || !ok {
		return false
	}
	stated, err := e.Renewal()
	if err != nil || stated.Number == 0 {
		return false
	}
	before := e.Identity
	before.Name = stated.Name
	r.kept = append(r.kept, kept{doc: doc, before: before, passed: passed,
		problem: fmt.Errorf("it states that it renews %s, which is not a live exception", before)})
	return true
}

// finish adds the result of each renewal to the report.
func (r *renewals) finish(report *cli.Report, live iter.Seq[*exception.Document]) {
	if r == nil || len(r.kept) == 0 {
		return
	}
	by := map[exception.Identity][]*kept{}
	for i := range r.kept {
		by[r.kept[i].before] = append(by[r.kept[i].before], &r.kept[i])
	}
	for doc := range live {
		for _, k := range by[doc.Identity()] {
			if k.live != nil {
				continue
			}
			if k.problem = renewal.Continues(k.doc, doc); k.problem == nil {
				k.live = doc
			}
		}
	}
	for _, k := range r.kept {
		report.Add(r.verdict(k)...)
	}
}

func (r *renewals) verdict(k kept) []cli.Result {
	path := exception.Path{"metadata", "annotations", exception.AnnotationRenews}
	resultOf := func(outcome cli.Outcome, reason, message, hint string) cli.Result {
		result, at := cli.ResultFor(k.doc), k.doc.PositionOf(path)
		result.Outcome, result.Reason, result.Message, result.Hint = outcome, reason, message, hint
		result.Line, result.Column, result.Path = at.Line, at.Column, path.String()
		return result
	}
	if k.problem != nil {
		return []cli.Result{resultOf(cli.Refuse, pending.ReasonNotARenewal, k.problem.Error(),
			"draft it with polex-request --renew, or request a new exception")}
	}
	results := []cli.Result{k.passed}
	// polex-sign verifies the signature of the predecessor. A missing record is a problem with any
	// signer, so it is reported here already.
	if r.newApprover && k.live.Approvals().From == "" {
		results = append(results,
			resultOf(cli.Warn, reasonApproversUnknown,
				"the renewal requires an approver who did not approve its predecessor, and the predecessor has no "+
					"review record",
				"request a new exception instead of a renewal"))
	}
	return results
}
