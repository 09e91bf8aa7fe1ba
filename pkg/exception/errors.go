package exception

import "fmt"

// SyntaxError is a document that cannot be read in exactly one way. Message and Hint quote
// untrusted text with %q.
type SyntaxError struct {
	Position Position
	Message  string
	Hint     string // a possible correction; may be empty
}

// Error returns the position and the message.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s: %s", e.Position, e.Message)
}
