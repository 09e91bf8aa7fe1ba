package promote

import (
	"fmt"

	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
)

// renewals holds what says that it renews another exception against what is signed:
// how many renewals there have been is counted here, and nowhere later can it be. A
// predecessor that is gone was withdrawn, or has ended long since. It returns the
// predecessor of each document as it lies in the signed folder, nil for a first
// exception; who signed it is for the caller to verify.
func (l *listing) renewals(docs []*exception.Document) ([]*exception.Document, exception.Refusals, error) {
	predecessors := make([]*exception.Document, len(docs))
	var refusals exception.Refusals
	for i, doc := range docs {
		e, ok := doc.Exception()
		if !ok || e.Renews.Text == "" && e.RenewalNumber.Text == "" {
			continue
		}
		before, problem, err := l.continues(doc, e)
		if err != nil {
			return nil, nil, err
		}
		if problem != nil {
			refusals = append(refusals, &exception.Refusal{Position: doc.PositionOf(e.Renews.Path), Reason: ReasonNotARenewal, Message: problem.Error(),
				Hint: "have it drafted with polex-request --renew, or request it anew"})
		}
		predecessors[i] = before
	}
	return predecessors, refusals, nil
}

// continues returns the signed exception that another one renews, or why it is no
// renewal of one.
func (l *listing) continues(doc *exception.Document, e *exception.Exception) (predecessor *exception.Document, problem, err error) {
	said, problem := e.Renewal()
	if problem != nil {
		return nil, problem, nil
	}
	before := e.Identity
	before.Name = said.Name
	problem = fmt.Errorf("it says that it renews %s, and no such exception is signed", before)
	for _, where := range l.Where(before) {
		signed, err := documentsIn(l.tree, l.signed[where])
		if err != nil {
			return nil, nil, err
		}
		for _, one := range signed {
			if one.Identity() != before {
				continue
			}
			if problem = request.Continues(doc, one); problem == nil {
				return one, nil, nil
			}
		}
	}
	return nil, problem, nil
}
