package guard

import (
	"time"

	"github.com/polex-dev/polex/pkg/verify"
)

// StateDeleting is the state of an object that verifies and is being deleted. Kyverno applies it
// until it is gone.
const StateDeleting = "deleting"

// Finding is the verdict on one stored object. To save memory it holds digests and times, not the
// object or its signature annotations.
type Finding struct {
	Decision
	Version string // of the object that was judged
	Since   time.Time

	state   State
	rules   *Rules // at the time of the verdict
	reading int    // of the checker, when the object was read
	asOf    time.Time
	turns   time.Time // when the same rules give another verdict; zero: never
	sound   string    // the reason if the signature verifies and only the definition can object; else ""
	dying   bool      // its deletion was requested
	remove  bool      // to be removed for its reason, or because only its deletion policy keeps it
	waits   bool      // its deletion waits for dependents
	kept    bool      // Kyverno still applies it after its deletion
}

// Passed reports whether the object is accepted.
func (f *Finding) Passed() bool { return f.Reason == ReasonVerified || f.Reason == StateDeleting }

// sameAs reports whether another finding has the same content. A renewal in place keeps the reason
// and changes the expiry.
func (f *Finding) sameAs(other *Finding) bool {
	return other != nil && f.Reason == other.Reason && f.UID == other.UID &&
		f.Facts.MessageDigest == other.Facts.MessageDigest && f.Summary() == other.Summary()
}

// isValid reports whether the finding is still valid for the same object.
func (f *Finding) isValid(rules *Rules, now time.Time) bool {
	if f.rules != rules || now.Before(f.asOf) {
		return false
	}
	return f.turns.IsZero() || now.Before(f.turns)
}

// hasEnded reports whether an exception has to be deleted because it has expired. Its signature has
// to verify by these rules in every other respect.
func (f *Finding) hasEnded(rules *Rules, now time.Time) bool {
	end := f.Facts.ExpiresAt
	return f.Object.IsException() && f.rules == rules && (f.sound != "" || f.Reason == verify.ReasonExpired) &&
		!end.IsZero() && !now.Before(end)
}

// complete completes the finding with the definition. other is the cause for which a client may see
// another object than the judged one; "" is none.
func (f *Finding) complete(other string) {
	if f.sound == "" {
		return
	}
	if f.reject(f.sound, ""); other != "" {
		f.reject(ReasonConversion, other)
	}
}

// removable reports whether a stored object may be removed for a reason. The reasons that allow it
// are changes that a person made. A clock, a definition or a kind that the trust policy does not
// list is no cause for removal.
func removable(reason string) bool {
	switch reason {
	case ReasonVerified, StateDeleting, ReasonUndecided, ReasonConversion,
		verify.ReasonNotYetValid, verify.ReasonSignedInFuture, verify.ReasonKindNotAllowed:
		return false
	default:
		return true
	}
}
