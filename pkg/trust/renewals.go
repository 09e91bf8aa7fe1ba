package trust

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

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
func (e *Scope) beyondRenewals(l *policyfile.RenewalLimits, signed time.Time) string {
	t := e.taken
	switch {
	case !t.renews():
		return ""
	case l.Forbid:
		return "limits.renewals.forbid is set, and it renews another"
	case t.unread != nil:
		return "limits.renewals are set, and its reference to the renewed exception cannot be read: " + t.unread.Error()
	case l.Max > 0 && t.renewal.Number > l.Max:
		return fmt.Sprintf("limits.renewals.max is %d, and it is renewal %d", l.Max, t.renewal.Number)
	case t.approvals < l.Approvals:
		return fmt.Sprintf("limits.renewals.requireApprovals is %d, and its record names %d", l.Approvals, t.approvals)
	case l.MaxLifetime > 0:
		if found := e.beyondLifetime(l.MaxLifetime, signed); found != "" {
			return fmt.Sprintf("limits.renewals.maxLifetime is %s, and %s", lifetime.FormatDuration(l.MaxLifetime), found)
		}
	}
	return ""
}
