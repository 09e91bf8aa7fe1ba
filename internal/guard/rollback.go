package guard

import (
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/verify"
)

// rollback rejects an update to an object that was signed earlier: it would undo a later
// restriction.
//
// It compares the signed messages and not the stored state, because the API server may convert the
// state to the version of the request. The old object has no influence if its signature does not
// verify or belongs to another object. Otherwise a forged signing time could keep out a valid
// exception.
func (j *judge) rollback(verified *verify.Verified, old *exception.Document) error {
	if old == nil {
		return nil
	}
	before, err := j.sealed(old, verified.Message().Identity())
	if err != nil || before == nil || before.Facts().MessageDigest == verified.Facts().MessageDigest {
		return nil //nolint:nilerr // as above
	}
	was, is := before.SignedAt(), verified.SignedAt()
	if was.IsZero() && is.IsZero() {
		// Both can get new evidence later, so the log entry or timestamp is the best known time.
		was, is = factsOf(before.Facts()).witnessed(), factsOf(verified.Facts()).witnessed()
	}
	switch {
	case was.IsZero() && !is.IsZero():
		return nil
	case is.IsZero():
		return refuse(ReasonRollback, "its signing time is not proven, so it may be older than the stored exception")
	case is.Before(was):
		return refuse(ReasonRollback, "it was signed at %s, before the stored exception, at %s", timestamp(is), timestamp(was))
	}
	return nil
}

// sealed verifies the signed message of an object without its other fields. It returns nil if the
// message is for another object.
func (j *judge) sealed(doc *exception.Document, id exception.Identity) (*verify.Verified, error) {
	opened, err := seal.Read(doc)
	if err != nil {
		return nil, err
	}
	message, err := seal.ParseMessage(opened.Message)
	if err != nil || message.Identity() != id {
		return nil, err
	}
	whole, err := seal.Attach(message, opened)
	if err != nil {
		return nil, err
	}
	return j.rules.verifier.Verify(whole, j.now)
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
