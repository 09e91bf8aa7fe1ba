package guard

import (
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// ReasonDeleting is the state of an object that is on its way out.
const ReasonDeleting = "deleting"

// Finding is what is known of a stored object.
type Finding struct {
	Decision
	Version string // of the object, as it was judged
	Since   time.Time
}

// Passed reports whether nothing is wrong with the object.
func (f *Finding) Passed() bool { return f.Reason == ReasonVerified || f.Reason == ReasonDeleting }

// sameAs reports whether another finding says no more than this one.
func (f *Finding) sameAs(other *Finding) bool {
	return other != nil && f.Reason == other.Reason && f.Detail == other.Detail && f.UID == other.UID
}

// stored judges an object that is in the cluster already.
func (j *judge) stored(doc *exception.Document) (verify.Facts, error) {
	verified, err := j.rules.verifier.Verify(doc, j.now)
	if err != nil {
		return verify.Facts{}, err
	}
	err = j.place(verified.Message())
	if err == nil {
		err = j.reachesGuard(verified.Message())
	}
	return verified.Facts(), err
}

// removable are the reasons for which an object may be removed that was there
// before it could be refused: what somebody did to it, and not what a clock or a
// kind's absence from the trust policy makes of it.
func removable(reason string) bool {
	switch reason {
	case ReasonVerified, ReasonDeleting, ReasonUndecided,
		string(verify.ReasonNotYetValid), string(verify.ReasonSignedInFuture), string(verify.ReasonKindNotAllowed):
		return false
	default:
		return true
	}
}
