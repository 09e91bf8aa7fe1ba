package ledger

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// Limits of the input. Beyond them Read returns [ErrTooMuch].
const (
	// MaxCommits is the maximum number of commits.
	MaxCommits = 250_000
	// MaxChanges is the maximum number of changed files in the two folders.
	MaxChanges = 1_000_000
	// MaxDocuments is the maximum number of different documents. Each needs a few KiB of memory.
	MaxDocuments = 200_000
	// MaxObjects is the maximum number of exceptions in a cluster.
	MaxObjects = 100_000

	// maxOrigin is the maximum number of merged commits to search for the author of a file.
	maxOrigin = 1000
	// maxMoved is the maximum number of file contents to read when following moved exceptions.
	maxMoved = 100_000
	// maxText is the maximum number of bytes kept of one text.
	maxText = 2 << 10
	// maxListed is the maximum number of policies of an exception, and of rules of each policy.
	maxListed = 100

	// clockSkew is the maximum difference between two clocks before it is a finding.
	clockSkew = 10 * time.Minute
)

// ErrTooMuch means that the history exceeds a limit.
var ErrTooMuch = errors.New("there is too much for an audit report")

func tooMuch(most int, what string) error {
	return fmt.Errorf("%w: the maximum is %d %s", ErrTooMuch, most, what)
}

// short cuts a text after maxText bytes.
func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	cut := maxText
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
