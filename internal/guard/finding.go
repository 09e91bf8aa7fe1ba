package guard

import (
	"slices"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// StateDeleting is the state of an object that verifies and is being deleted. It
// counts until it is gone.
const StateDeleting = "deleting"

// Finding is what is known of a stored object. There is one for each object, so it
// holds digests and times, and neither the object nor its seal.
type Finding struct {
	Decision
	Version string // of the object, as it was judged
	Since   time.Time

	state   State
	content content      // of what was judged; zero where the verdict is not about that alone
	rules   *Rules       // that it was judged by
	shown   *Conversions // that it was shown through
	asOf    time.Time
	turns   time.Time // from when on the same rules say something else; zero is never
	sound   string    // the reason where the seal verifies and nothing but Git or its definition is against it, or ""
	dying   bool      // somebody has deleted it
	doomed  bool      // to be removed for its reason
}

// Passed reports whether nothing is wrong with the object.
func (f *Finding) Passed() bool { return f.Reason == ReasonVerified || f.Reason == StateDeleting }

// sameAs reports whether another finding says no more than this one. A renewal in place has
// the same reason, and another end.
func (f *Finding) sameAs(other *Finding) bool {
	return other != nil && f.Reason == other.Reason && f.UID == other.UID &&
		f.Facts.MessageDigest == other.Facts.MessageDigest && f.Summary() == other.Summary()
}

// like is the finding with the texts of the one before where they are the same, so that
// they are not held twice.
func (f *Finding) like(before *Finding) Finding {
	same := *f
	if before == nil {
		return same
	}
	same.Object = before.Object
	if f.UID == before.UID {
		same.UID, same.state.UID = before.UID, before.UID
	}
	if f.Facts.MessageDigest == before.Facts.MessageDigest && slices.Equal(f.Facts.Signers, before.Facts.Signers) {
		same.Facts.MessageDigest, same.Facts.Signers = before.Facts.MessageDigest, before.Facts.Signers
	}
	return same
}

// continues reports whether what is wrong is what was wrong before. A message that
// Git does not know has its own time to come to be known.
func (f *Finding) continues(before *Finding) bool {
	return before != nil && before.Reason == f.Reason && before.UID == f.UID &&
		(f.Reason != ReasonUnknownToGit || before.Facts.MessageDigest == f.Facts.MessageDigest)
}

// holds reports whether the rules would say the same of the same state now. Another
// conversion shows another content of it.
func (f *Finding) holds(rules *Rules, shown *Conversions, now time.Time) bool {
	return f != nil && f.rules == rules && f.shown == shown && !now.Before(f.asOf) && (f.turns.IsZero() || now.Before(f.turns))
}

// hasEnded reports whether an exception is to be deleted for its time: its seal
// verifies by the rules but for its end, which has come.
func (f *Finding) hasEnded(rules *Rules, now time.Time) bool {
	end := f.Facts.ExpiresAt
	return f.Object.IsException() && f.rules == rules && (f.sound != "" || f.Reason == verify.ReasonExpired) &&
		!end.IsZero() && !now.Before(end)
}

// settle says what is known of the object now that the repository holds what it does,
// and its definition shows it as it does. shown is nil where every reader is shown what
// was judged.
func (f *Finding) settle(commit *Commit, shown error) {
	if f.sound == "" {
		return
	}
	facts := f.Facts
	if shown == nil {
		shown = knownToGit(f.rules, commit, f.Object.GroupKind, facts)
	}
	f.Detail = ""
	f.answer(f.sound, facts, shown)
	f.Facts = facts // the end is kept whatever the answer is
}

// stored judges an object that is in the cluster already, but for what Git holds.
func (j *judge) stored(doc *exception.Document) (Facts, error) {
	verified, err := j.rules.verifier.Verify(doc, j.now)
	if err != nil {
		return Facts{}, err
	}
	err = j.place(verified.Message())
	if err == nil {
		err = j.reachesGuard(verified.Message())
	}
	return factsOf(verified.Facts()), err
}

// knownToGit refuses an exception whose message no file of the repository holds. It
// is asked of what is stored and never of a request: Git comes to a cluster by
// several ways, and the guard may be told of a commit last.
func knownToGit(rules *Rules, commit *Commit, kind exception.GroupKind, facts Facts) error {
	if commit == nil || commit.Messages[facts.MessageDigest] || !kind.IsException() || rules.mayStandOutsideGit(facts) {
		return nil
	}
	return &refusal{reason: ReasonUnknownToGit, detail: "no file of the repository has this signed content", facts: facts}
}

// removable are the reasons for which an object may be removed that was there
// before it could be refused: what somebody did to it, and not what a clock, a
// definition or a kind's absence from the trust policy makes of it.
func removable(reason string) bool {
	switch reason {
	case ReasonVerified, StateDeleting, ReasonUndecided, ReasonConversion,
		verify.ReasonNotYetValid, verify.ReasonSignedInFuture, verify.ReasonKindNotAllowed:
		return false
	default:
		return true
	}
}
