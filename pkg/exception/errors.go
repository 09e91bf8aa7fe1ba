package exception

import "fmt"

// SyntaxError says that a document cannot be read without guessing. Message and
// Hint quote untrusted text with %q.
type SyntaxError struct {
	Position Position
	Message  string
	Hint     string // what to do about it; may be empty
}

// Error returns the position and the message.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s: %s", e.Position, e.Message)
}
