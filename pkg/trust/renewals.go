package trust

import (
	"errors"
	"fmt"
	"time"

	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
)

// maxApprovals is how many approvals can be asked of a renewal.
const maxApprovals = 100

// renewalLimits are what an authority may sign of exceptions that say that they renew
// another; what is zero is no limit.
type renewalLimits struct {
	forbid      bool
	most        int
	maxLifetime time.Duration
	approvals   int
}

func newRenewalLimits(c *RenewalLimitsConfig) (*renewalLimits, error) {
	if c == nil {
		return nil, nil
	}
	l := &renewalLimits{forbid: c.Forbid, most: c.Max, approvals: c.RequireApprovals}
	switch {
	case *c == RenewalLimitsConfig{}:
		return nil, errors.New("they limit nothing: leave them out, or set one")
	case c.Forbid && *c != RenewalLimitsConfig{Forbid: true}:
		return nil, errors.New("forbid leaves no renewal to set a limit to: set it alone")
	case c.Max < 0 || c.Max > exception.MaxRenewals:
		return nil, fmt.Errorf("max: %d in a row cannot be meant, only 1 to %d", c.Max, exception.MaxRenewals)
	case c.RequireApprovals < 0 || c.RequireApprovals > maxApprovals:
		return nil, fmt.Errorf("requireApprovals: %d cannot be meant, only 1 to %d", c.RequireApprovals, maxApprovals)
	}
	if c.MaxLifetime != "" {
		var err error
		if l.maxLifetime, err = lifetime.ParseDuration(c.MaxLifetime); err != nil {
			return nil, fmt.Errorf("maxLifetime: %w", err)
		}
	}
	return l, nil
}

// taken is what a document says of an exception that it renews, and who approved it.
type taken struct {
	renewal   exception.Renewal
	unread    error // why that cannot be read
	approvals int
}

// renews reports whether the document says that it renews another.
func (t taken) renews() bool { return t.unread != nil || t.renewal.Number > 0 }

func takenBy(doc *exception.Document, said *exception.Exception) (t taken) {
	if t.renewal, t.unread = said.Renewal(); t.renews() {
		t.approvals = len(doc.Approvals().Names)
	}
	return t
}

// beyondRenewals says which of these limits a renewal breaks, and by what; it is ""
// for one that breaks none, and for what renews nothing.
func (e *Scope) beyondRenewals(l *renewalLimits, signed time.Time) string {
	t := e.taken
	switch {
	case !t.renews():
		return ""
	case l.forbid:
		return "limits.renewals.forbid is set, and it renews another"
	case t.unread != nil:
		return "limits.renewals are set, and its reference to the renewed exception cannot be read: " + t.unread.Error()
	case l.most > 0 && t.renewal.Number > l.most:
		return fmt.Sprintf("limits.renewals.max is %d, and it is renewal %d", l.most, t.renewal.Number)
	case t.approvals < l.approvals:
		return fmt.Sprintf("limits.renewals.requireApprovals is %d, and its record names %d", l.approvals, t.approvals)
	case l.maxLifetime > 0:
		if found := e.beyondLifetime(l.maxLifetime, signed); found != "" {
			return fmt.Sprintf("limits.renewals.maxLifetime is %s, and %s", lifetime.FormatDuration(l.maxLifetime), found)
		}
	}
	return ""
}
