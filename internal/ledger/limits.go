package ledger

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// Limits of what is read. Beyond them a ledger is not made: [ErrTooMuch].
const (
	// MaxCommits is how many commits are read.
	MaxCommits = 250_000
	// MaxChanges is how many changes of files they make in the two folders.
	MaxChanges = 1_000_000
	// MaxDocuments is how many different documents are verified, and kept a few KiB
	// of each.
	MaxDocuments = 200_000
	// MaxObjects is how many objects of a cluster are compared.
	MaxObjects = 100_000

	// maxOrigin is how many commits of a merged line are asked who wrote a file.
	maxOrigin = 1000
	// maxMoved is how many contents are read to find out where exceptions were moved from.
	maxMoved = 100_000
	// maxText is how many bytes of something that a document says are kept.
	maxText = 2 << 10
	// maxListed is how many policies of an exception are kept, and rules of each.
	maxListed = 100

	// clockSkew is how far two clocks may be apart before it is said.
	clockSkew = 10 * time.Minute
)

// ErrTooMuch says that a history is beyond the limits.
var ErrTooMuch = errors.New("there is more than a ledger is made of")

func tooMuch(most int, what string) error {
	return fmt.Errorf("%w: %d %s are the most", ErrTooMuch, most, what)
}

// short cuts a text that is longer than what is kept.
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
