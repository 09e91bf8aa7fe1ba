package report

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/lifetime"
)

const oneDay = 24 * time.Hour

// approval returns the namespace, name and version of an entry for people.
func approval(e *ledger.Entry) string {
	name := e.Identity.Namespace + "/" + e.Identity.Name
	if e.Version > 1 {
		name += fmt.Sprintf(" (%d)", e.Version)
	}
	return name
}

// lasts returns the length of a chain as text.
func lasts(c *ledger.Chain) string {
	length, known := c.Length()
	switch {
	case known && length >= oneDay:
		return lifetime.FormatDuration(length.Truncate(oneDay)) + ", from " + day(c.From) + " to " + day(c.To)
	case known:
		return lasting(length) + ", on " + day(c.From)
	case c.From.IsZero():
		return "from an unknown time"
	default:
		return "from " + day(c.From) + ", no expiry"
	}
}

// renewedMost returns the first and the last exception of a chain as text.
func renewedMost(c *ledger.Chain) string {
	names := approval(c.First())
	if last := c.Last(); last != c.First() {
		names += " to " + approval(last)
	}
	return names
}
