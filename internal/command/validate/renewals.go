package validate

import (
	"fmt"
	"iter"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/promote/pending"
	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
)

// reasonApproversUnknown and [pending.ReasonNotARenewal] are the reasons that signing has
// for not promoting a renewal, and with it nothing that waits beside it. As far as the live
// exceptions show it, it is said in the pull request.
const reasonApproversUnknown = "approvers-unknown"

// renewals are the documents that are well shaped and say that they renew others. They
// are held against the live exceptions when all have been read.
type renewals struct {
	newApprover bool // is asked for, by promote.renewals
	kept        []kept
}

type kept struct {
	doc     *exception.Document
	before  exception.Identity
	passed  cli.Result
	problem error // nil once one of the live exceptions is what it renews
	live    *exception.Document
}

// keep keeps a document that says that it renews another, and reports whether it did.
func (r *renewals) keep(doc *exception.Document, passed cli.Result) bool {
	e, ok := doc.Exception()
	if r == nil || !ok {
		return false
	}
	said, err := e.Renewal()
	if err != nil || said.Number == 0 {
		return false
	}
	before := e.Identity
	before.Name = said.Name
	r.kept = append(r.kept, kept{doc: doc, before: before, passed: passed, problem: fmt.Errorf("it says that it renews %s, which is not among the live exceptions", before)})
	return true
}

// settle says of each whether it is what it says.
func (r *renewals) settle(report *cli.Report, live iter.Seq[*exception.Document]) {
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
			if k.problem = request.Continues(k.doc, doc); k.problem == nil {
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
	said := func(outcome cli.Outcome, reason, message, hint string) cli.Result {
		result, at := cli.ResultFor(k.doc), k.doc.PositionOf(path)
		result.Outcome, result.Reason, result.Message, result.Hint = outcome, reason, message, hint
		result.Line, result.Column, result.Path = at.Line, at.Column, path.String()
		return result
	}
	if k.problem != nil {
		return []cli.Result{said(cli.Refuse, pending.ReasonNotARenewal, k.problem.Error(), "have it drafted with polex-request --renew, or request it anew")}
	}
	results := []cli.Result{k.passed}
	// Who signed the predecessor is for signing to verify. A record that is not there
	// is lacking whoever did.
	if r.newApprover && k.live.Approvals().From == "" {
		results = append(results, said(cli.Warn, reasonApproversUnknown, "another approver than its predecessor's is asked for, and that one was signed without a record of its review",
			"request a first exception anew, which is decided by itself"))
	}
	return results
}
