package guard

import (
	"errors"
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
	before, err := j.signedMessage(old, verified.Message().Identity())
	if err != nil || before.Facts().MessageDigest == verified.Facts().MessageDigest {
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
		return refuse(ReasonRollback, "it was signed at %s, before the stored exception, at %s",
			timestamp(is), timestamp(was))
	}
	return nil
}

// messageOf returns the signed message of an object, and the annotations that it comes from. The message
// is nil if there is none. It is not verified yet.
func messageOf(doc *exception.Document) (*exception.Document, *seal.Seal) {
	annotations, err := seal.Read(doc)
	if err != nil {
		return nil, nil
	}
	message, err := seal.ParseMessage(annotations.Message)
	if err != nil {
		return nil, nil
	}
	return message, annotations
}

var errNoMessage = errors.New("it has no signed message, or that of another object")

// signedMessage verifies the signed message of an object without its other fields.
func (j *judge) signedMessage(doc *exception.Document, id exception.Identity) (*verify.Verified, error) {
	message, annotations := messageOf(doc)
	if message == nil || message.Identity() != id {
		return nil, errNoMessage
	}
	whole, err := seal.Attach(message, annotations)
	if err != nil {
		return nil, err
	}
	return j.rules.verifier.Verify(whole, j.now)
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
