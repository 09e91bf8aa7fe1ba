package cli

import (
	"errors"
	"fmt"
)

// Exit codes. They are the same in every command and for every format. 0 means that at least one
// document was found and all passed. [Undecided] takes precedence over [Refused].
const (
	Passed    = 0
	Refused   = 1
	Usage     = 2
	Undecided = 3 // I/O, network, or nothing to check
)

// StatusError ends a command with an exit code, after all messages were printed.
type StatusError int

// Error returns the exit code as text.
func (e StatusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// UsageError is an invalid command line or configuration.
type UsageError struct {
	Err  error
	Hint string
}

// Error returns the text of the cause.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef makes a [UsageError].
func Usagef(format string, args ...any) error { return UsageHint("", format, args...) }

// UsageHint makes a [UsageError] with a hint.
func UsageHint(hint, format string, args ...any) error {
	return &UsageError{Err: fmt.Errorf(format, args...), Hint: hint}
}

// HintedError is an error with a hint for the user.
type HintedError struct {
	Err  error
	Hint string
}

// Error returns the text of the cause.
func (e *HintedError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *HintedError) Unwrap() error { return e.Err }

// Hint adds a hint to an error.
func Hint(err error, hint string) error { return &HintedError{Err: err, Hint: hint} }

func hintOf(err error) string {
	var hinted *HintedError
	var usage *UsageError
	var hinter interface{ Hint() string }
	switch {
	case errors.As(err, &hinted) && hinted.Hint != "":
		return hinted.Hint
	case errors.As(err, &usage) && usage.Hint != "":
		return usage.Hint
	case errors.As(err, &hinter):
		return hinter.Hint()
	}
	return ""
}
