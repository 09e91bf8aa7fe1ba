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

// continues reports whether what is wrong is what was wrong before. A message that
// Git does not know has its own time to come to be known.
func (f *Finding) continues(before *Finding) bool {
	return before != nil && before.Reason == f.Reason && before.UID == f.UID &&
		(f.Reason != ReasonUnknownToGit || before.Facts.MessageDigest == f.Facts.MessageDigest)
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
	if err == nil {
		err = j.shown(verified.Message().GroupKind())
	}
	if err == nil {
		err = j.knownToGit(verified)
	}
	return verified.Facts(), err
}

// knownToGit refuses an exception whose message no file of the repository holds. It
// is asked of what is stored and never of a request: Git comes to a cluster by
// several ways, and the guard may be told of a commit last.
func (j *judge) knownToGit(verified *verify.Verified) error {
	facts := verified.Facts()
	if j.commit == nil || j.commit.Messages[facts.MessageDigest] ||
		!verified.Message().GroupKind().IsException() || j.rules.mayStandOutsideGit(facts) {
		return nil
	}
	return refuse(ReasonUnknownToGit, "no file of the repository holds what was signed")
}

// removable are the reasons for which an object may be removed that was there
// before it could be refused: what somebody did to it, and not what a clock, a
// definition or a kind's absence from the trust policy makes of it.
func removable(reason string) bool {
	switch reason {
	case ReasonVerified, ReasonDeleting, ReasonUndecided, ReasonConversion,
		string(verify.ReasonNotYetValid), string(verify.ReasonSignedInFuture), string(verify.ReasonKindNotAllowed):
		return false
	default:
		return true
	}
}
