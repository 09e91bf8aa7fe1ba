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

// SyntaxError is a document that cannot be read in exactly one way. Message and Hint quote
// untrusted text with %q.
type SyntaxError struct {
	Position Position
	Message  string
	Hint     string // a possible correction; may be empty
}

// Error returns the position and the message.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s: %s", e.Position, e.Message) }

// Reason is the stable name of a result, in kebab-case, with its documentation. Text, JSON, SARIF,
// admission messages, metric labels and the documentation use the same name. A reason never changes
// its meaning.
type Reason struct {
	Name, Doc string
	// Severity is the severity of the findings, unless the configuration sets another.
	Severity Severity
	// Milder means that some findings are warnings although Severity is [SeverityError].
	Milder bool
	// Fixed means that no configuration can disable the check or make it a warning. Such an
	// exception could not be signed or applied, or would reach the guard.
	Fixed bool
}

// Severity tells whether a result rejects a document.
type Severity int

// The severities. The zero value rejects.
const (
	SeverityError Severity = iota
	SeverityWarning
	SeverityNote // the result of a document that passed
)

// String returns "error", "warning" or "note".
func (s Severity) String() string {
	switch s {
	case SeverityWarning:
		return "warning"
	case SeverityNote:
		return "note"
	default:
		return "error"
	}
}
