package report

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/lifetime"
)

const oneDay = 24 * time.Hour

// approval names an entry for people.
func approval(e *ledger.Entry) string {
	name := e.Identity.Namespace + "/" + e.Identity.Name
	if e.Version > 1 {
		name += fmt.Sprintf(" (%d)", e.Version)
	}
	return name
}

// lasts says how long a chain is.
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
		return "from " + day(c.From) + " without an end"
	}
}

// renewedMost says of a chain from where to where it goes.
func renewedMost(c *ledger.Chain) string {
	names := approval(c.First())
	if last := c.Last(); last != c.First() {
		names += " to " + approval(last)
	}
	return names
}
