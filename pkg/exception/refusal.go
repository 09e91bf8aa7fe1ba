package exception

import (
	"errors"
	"fmt"
)

// Refusal is the reason for not signing or moving a document. None of the other documents in its
// batch is signed or moved either.
type Refusal struct {
	Position Position
	Reason   string // stable, kebab-case
	Message  string // untrusted text quoted
	Hint     string // a possible correction; may be empty
}

// Error returns position, message and reason.
func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s [%s]", r.Position, r.Message, r.Reason) }

// Refusals are all refusals of a batch. One refusal stops the whole batch.
type Refusals []*Refusal

// RefusalsIn returns the refusals in an error, or nil. With an empty list of refusals it returns
// nil, so the error stays an error.
func RefusalsIn(err error) Refusals {
	var refused Refusals
	if !errors.As(err, &refused) || len(refused) == 0 {
		return nil
	}
	return refused
}

// Error returns the first refusal and the number of the others.
func (r Refusals) Error() string {
	switch len(r) {
	case 0:
		return "refused without a reason"
	case 1:
		return r[0].Error()
	}
	return fmt.Sprintf("%s (and %d more)", r[0], len(r)-1)
}
