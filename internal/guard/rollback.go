package guard

import (
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/verify"
)

// rollback refuses to replace an object by one that was signed before it: what
// was narrowed since would be wide again.
//
// Of the old object its seal counts and not its state, which an API server shows
// in another version when the request is in another one. A seal that does not
// verify, or is another object's, says nothing of when anything was signed: who
// made that must not keep an honest one out.
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
		// Of two whose evidence can be made again, this is all that is known.
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

// sealed verifies the message of an object's seal by itself. It returns nil when
// that is not about the object.
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
