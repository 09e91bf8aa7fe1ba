package trust

import (
	"errors"
	"fmt"
	"time"

	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
)

// maxApprovals is the maximum of requireApprovals.
const maxApprovals = 100

// renewalLimits restrict the renewals of an authority; zero sets no limit.
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
		return nil, errors.New("forbid permits no renewal, so remove the other limits")
	case c.Max < 0 || c.Max > exception.MaxRenewals:
		return nil, fmt.Errorf("max: %d is invalid, expected 1 to %d", c.Max, exception.MaxRenewals)
	case c.RequireApprovals < 0 || c.RequireApprovals > maxApprovals:
		return nil, fmt.Errorf("requireApprovals: %d is invalid, expected 1 to %d", c.RequireApprovals, maxApprovals)
	}
	if c.MaxLifetime != "" {
		var err error
		if l.maxLifetime, err = lifetime.ParseDuration(c.MaxLifetime); err != nil {
			return nil, fmt.Errorf("maxLifetime: %w", err)
		}
	}
	return l, nil
}

// taken is the renewal that a document states, and its number of approvals.
type taken struct {
	renewal   exception.Renewal
	unread    error // the error if it is unreadable
	approvals int
}

// renews reports whether the document states that it renews another.
func (t taken) renews() bool { return t.unread != nil || t.renewal.Number > 0 }

func takenBy(doc *exception.Document, said *exception.Exception) (t taken) {
	if t.renewal, t.unread = said.Renewal(); t.renews() {
		t.approvals = len(doc.Approvals().Names)
	}
	return t
}

// beyondRenewals names the first limit that a renewal exceeds and the found value, or returns "". A
// document that renews nothing exceeds none.
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
