package verify

import (
	"errors"
	"slices"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
)

// Examination is a document with the verdict of every step that does not depend on
// the time. It says nothing by itself; [Examination.At] does. Its zero value holds at
// no time. It is safe for use by many goroutines.
type Examination struct {
	verifier *Verifier
	raw      []byte              // the signed bytes
	message  *exception.Document // the same, read
	scope    trust.Scope
	facts    Facts // up to the ninth step
	// refused is what the document is refused for at any time, or why that cannot be
	// said.
	refused error
}

// errNotExamined is what the zero value of an Examination comes to.
var errNotExamined = errors.New("verify: nothing was examined")

// examination goes through steps and keeps what they come to: errNotExamined, unless
// they come to their end.
func (v *Verifier) examination(steps func(*Examination) error) *Examination {
	e := &Examination{verifier: v, refused: errNotExamined}
	e.refused = func() (err error) {
		defer recovered(&err)
		return steps(e)
	}()
	return e
}

// judge takes the steps from the fourth to the ninth. What it verifies on its way it
// adds to the facts.
func (e *Examination) judge(o opened) error {
	e.raw = o.raw
	// 4. and 5. Each signature, and who made it.
	signatures := make([]Signature, len(o.sets))
	for i := range o.sets {
		var err error
		if signatures[i], err = e.verifier.signature(o.raw, o.sets[i]); err != nil {
			return inSet(err, i, len(o.sets))
		}
		e.facts.MessageDigest, e.facts.Signatures = digestOf(o.raw), signatures[:i+1]
	}
	// 6. Enough authorities. Nothing of the message is parsed before this holds.
	if err := e.verifier.enough(signatures); err != nil {
		return err
	}
	// 7. The message.
	if err := e.read(o); err != nil {
		return err
	}
	// 8. Each authority within its limits.
	e.scope = e.verifier.policy.ScopeOf(e.message)
	if err := e.verifier.count(e.scope, signatures); err != nil {
		return err
	}
	// 9. Object and message.
	if o.applied != nil {
		if differences := seal.Added(e.verifier.policy.AllowedMetadata()).Compare(o.applied, e.message, maxCompared); len(differences) > 0 {
			return altered(differences)
		}
	}
	return nil
}

// read parses the message that authorities signed, and adds what it states to the facts.
func (e *Examination) read(o opened) error {
	if o.spelling != nil {
		if err := o.spelling(); err != nil {
			return rejectCause(ReasonMalformedSignature, err, "its seal cannot be read: %s", err)
		}
	}
	message, err := seal.ParseMessage(o.raw)
	if err != nil {
		return rejectCause(ReasonBadMessage, err, "the signed message cannot be read: %s", err)
	}
	if o.applied == nil { // else the object's kind was looked at, and the message equals it
		if err := e.verifier.kind(message); err != nil {
			return err
		}
	}
	e.message = message
	if said, ok := message.Exception(); ok {
		e.facts.Renewal, _ = said.Renewal()
		e.facts.Approvals = message.Approvals()
	}
	return nil
}

// At decides whether the document counts at the time now, as [Verifier.Verify] does:
// it takes the steps that are left.
func (e *Examination) At(now time.Time) (verified *Verified, err error) {
	if e == nil || e.verifier == nil {
		return nil, errNotExamined
	}
	// What one answer hands out is not another's.
	facts := e.facts
	facts.Signatures = slices.Clone(facts.Signatures)
	facts.Approvals.Names = slices.Clone(facts.Approvals.Names)
	if err = e.refused; err == nil {
		err = e.last(now, &facts)
	}
	var rejected *Rejected
	if errors.As(err, &rejected) {
		told := *rejected
		told.Facts = facts
		return nil, &told
	}
	if err != nil {
		return nil, err
	}
	return &Verified{message: e.message, facts: facts}, nil
}

// last takes the tenth and the eleventh step.
func (e *Examination) last(now time.Time, facts *Facts) (err error) {
	defer recovered(&err)
	// 10. The lifetime.
	life, err := e.verifier.lifetime(e.message, e.scope, facts.Signatures, now)
	facts.StartsAt, facts.ExpiresAt = life.StartsAt, life.ExpiresAt
	if err != nil {
		return err
	}
	// 11. Not withdrawn.
	return e.verifier.withdrawn(e.raw, facts.Signatures, e.scope.SignedAt())
}
