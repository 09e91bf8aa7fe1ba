package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/lifetime"
)

const oneDay = 24 * time.Hour

// predecessor returns the identity of the renewed exception, or "".
func predecessor(e *ledger.Entry) string {
	if e.Renews == nil {
		return ""
	}
	return e.Predecessor().String()
}

// successors returns the identities of the exceptions that renew e.
func successors(e *ledger.Entry) string {
	var names []string
	for _, after := range e.RenewedBy {
		names = append(names, after.Identity.String())
	}
	return strings.Join(names, ", ")
}

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
		return "from " + day(c.From) + " without an end"
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

// renewalCells returns the CSV cells about renewals.
func renewalCells(e *ledger.Entry) []string {
	cells := []string{predecessor(e), "", "", successors(e), "", ""}
	if e.Renews != nil {
		cells[1], cells[2] = e.Renews.Digest, strconv.Itoa(e.Renews.Number)
	}
	if e.Chain != nil {
		cells[4], cells[5] = clock(e.Chain.From), clock(e.Chain.To)
	}
	return cells
}
