package cli

import (
	"errors"
	"fmt"
)

// Exit statuses. They are the same in every binary and whatever the format. 0
// means that at least one document was found and every one passed; [Undecided]
// beats [Refused].
const (
	Passed    = 0
	Refused   = 1
	Usage     = 2
	Undecided = 3 // I/O, network, or nothing to check
)

// StatusError ends a command with a status after everything has been said.
type StatusError int

// Error names the status.
func (e StatusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// UsageError is a command line or a configuration that cannot be meant.
type UsageError struct {
	Err  error
	Hint string
}

// Error returns the cause's text.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef makes a [UsageError].
func Usagef(format string, args ...any) error {
	return &UsageError{Err: fmt.Errorf(format, args...)}
}

// HintedError is an error with what to do about it.
type HintedError struct {
	Err  error
	Hint string
}

// Error returns the cause's text.
func (e *HintedError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *HintedError) Unwrap() error { return e.Err }

// Hint adds what to do about an error.
func Hint(err error, hint string) error { return &HintedError{Err: err, Hint: hint} }

func hintOf(err error) string {
	var hinted *HintedError
	if errors.As(err, &hinted) {
		return hinted.Hint
	}
	var usage *UsageError
	if errors.As(err, &usage) {
		return usage.Hint
	}
	var hinter interface{ Hint() string }
	if errors.As(err, &hinter) {
		return hinter.Hint()
	}
	return ""
}
