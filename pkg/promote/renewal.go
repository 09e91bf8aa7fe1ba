package promote

import (
	"fmt"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/request"
)

// renewals holds what says that it renews another exception against what is signed:
// how many renewals there have been is counted here, and nowhere later can it be. A
// predecessor that is gone was withdrawn, or has ended long since.
func (l *listing) renewals(docs []*exception.Document) (exception.Refusals, error) {
	var refusals exception.Refusals
	for _, doc := range docs {
		e, ok := doc.Exception()
		if !ok || e.Renews.Text == "" && e.RenewalNumber.Text == "" {
			continue
		}
		problem, err := l.continues(doc, e)
		if err != nil {
			return nil, err
		}
		if problem != nil {
			refusals = append(refusals, &exception.Refusal{Position: doc.PositionOf(e.Renews.Path), Reason: ReasonNotARenewal, Message: problem.Error(),
				Hint: "have it drafted with polex-request --renew, or request it anew"})
		}
	}
	return refusals, nil
}

// continues returns why an exception is no renewal of one that is signed, or nil.
func (l *listing) continues(doc *exception.Document, e *exception.Exception) (problem, err error) {
	said, problem := e.Renewal()
	if problem != nil {
		return problem, nil
	}
	before := e.Identity
	before.Name = said.Name
	problem = fmt.Errorf("it says that it renews %s, and no such exception is signed", before)
	for _, where := range l.objects[before] {
		signed, err := documentsIn(l.tree, l.signed[where])
		if err != nil {
			return nil, err
		}
		for _, one := range signed {
			if one.Identity() != before {
				continue
			}
			if problem = request.Continues(doc, one); problem == nil {
				return nil, nil
			}
		}
	}
	return problem, nil
}
