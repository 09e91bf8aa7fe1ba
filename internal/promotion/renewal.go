package promotion

import (
	"fmt"

	"github.com/polex-dev/polex/internal/promotion/renewal"
	"github.com/polex-dev/polex/pkg/exception"
)

// renewals compares each renewal with the signed exception that it names. Only here can the number
// of renewals be counted. Without its predecessor, a renewal is rejected: the predecessor was
// revoked or expired long ago. It returns the predecessor of each document from the signed folder,
// or nil for a first exception. The caller must verify the signature of the predecessor.
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
			refusals = append(refusals, &exception.Refusal{Position: doc.PositionOf(e.Renews.Path),
				Reason: ReasonNotARenewal, Message: problem.Error(),
				Hint: "draft it with polex-request --renew, or request a new exception"})
		}
		predecessors[i] = before
	}
	return predecessors, refusals, nil
}

// continues returns the signed exception that doc renews, or the reason why it is not a renewal.
func (l *listing) continues(doc *exception.Document,
	e *exception.Exception) (predecessor *exception.Document, problem, err error) {
	said, problem := e.Renewal()
	if problem != nil {
		return nil, problem, nil
	}
	before := e.Identity
	before.Name = said.Name
	problem = fmt.Errorf("it states that it renews %s, and no such exception is signed", before)
	for _, where := range l.Where(before) {
		signed, err := documentsIn(l.tree, l.signed[where])
		if err != nil {
			return nil, nil, err
		}
		for _, one := range signed {
			if one.Identity() != before {
				continue
			}
			if problem = renewal.Continues(doc, one); problem == nil {
				return one, nil, nil
			}
		}
	}
	return nil, problem, nil
}
