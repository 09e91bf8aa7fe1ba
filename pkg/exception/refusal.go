package exception

import (
	"errors"
	"fmt"
)

// Refusal says why one document is not signed or moved: nothing that it was to
// happen with happened.
type Refusal struct {
	Position Position
	Reason   string // stable, kebab-case
	Message  string // untrusted text quoted
	Hint     string // what to do about it; may be empty
}

// Error returns position, message and reason.
func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s [%s]", r.Position, r.Message, r.Reason) }

// Refusals are all the refusals of a batch. One of them stops the whole batch.
type Refusals []*Refusal

// RefusalsIn returns the refusals that an error is of, or nil. An empty list of refusals
// refuses nothing: the error stays an error.
func RefusalsIn(err error) Refusals {
	var refused Refusals
	if !errors.As(err, &refused) || len(refused) == 0 {
		return nil
	}
	return refused
}

// Error returns the first refusal and how many there are.
func (r Refusals) Error() string {
	switch len(r) {
	case 0:
		return "refused without a reason"
	case 1:
		return r[0].Error()
	}
	return fmt.Sprintf("%s (and %d more)", r[0], len(r)-1)
}
