package verify

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// Examination is the result of the steps that do not depend on the time. [Examination.At] returns
// the verdict. The zero value accepts at no time. Many goroutines can use one.
type Examination struct {
	verifier *Verifier
	raw      []byte              // the signed bytes
	message  *exception.Document // the parsed message
	scope    policyfile.Scope
	facts    Facts // of the steps up to the ninth
	// refused is the rejection at any time, or the error that prevented the decision.
	refused error
}

// errNotExamined is the result of the zero value of an Examination.
var errNotExamined = errors.New("verify: nothing was examined")

// examination takes the steps and keeps their result. The result is errNotExamined until the steps
// have returned.
func (v *Verifier) examination(steps func(*Examination) error) *Examination {
	e := &Examination{verifier: v, refused: errNotExamined}
	e.refused = func() (err error) {
		defer recovered(&err)
		return steps(e)
	}()
	return e
}

// judge takes the steps 4 to 9, and adds verified facts on its way.
func (e *Examination) judge(o opened) error {
	e.raw = o.raw
	// 4. and 5. Each signature, and its signer.
	message := messageOf(o.raw)
	claims, err := e.verifier.claims(message, o.sets)
	if err != nil {
		return err
	}
	signatures := make([]Signature, len(claims))
	for i := range claims {
		if signatures[i], err = claims[i].verify(message); err != nil {
			return inSet(err, i, len(claims))
		}
		e.facts.MessageDigest, e.facts.Signatures = fmt.Sprintf("sha256:%x", message.digest), signatures[:i+1]
	}
	// 6. Enough authorities. The message is not parsed before this step succeeds.
	if err := e.verifier.enough(signatures); err != nil {
		return err
	}
	// 7. The message.
	if err := e.read(o); err != nil {
		return err
	}
	// 8. Each authority within its limits.
	e.scope = e.verifier.policy.Rules().ScopeOf(e.message)
	if err := e.verifier.count(e.scope, signatures); err != nil {
		return err
	}
	// 9. Object and message.
	if o.applied != nil {
		if differences := seal.Added(e.verifier.policy.AllowedMetadata()).Compare(o.applied, e.message,
			maxCompared); len(differences) > 0 {
			return altered(o.applied, differences)
		}
	}
	return nil
}

// read parses the signed message, and adds its statements to the facts.
func (e *Examination) read(o opened) error {
	if o.spelling != nil {
		if err := o.spelling(); err != nil {
			return rejectCause(ReasonMalformedSignature, err, "its signature annotations cannot be read: %s", err)
		}
	}
	message, err := seal.ParseMessage(o.raw)
	if err == nil && o.applied == nil { // the message itself is deployed
		_, err = exception.Parse(o.raw, "message")
	}
	if err != nil {
		return rejectCause(ReasonBadMessage, err, "the signed message cannot be read: %s", err)
	}
	if o.applied == nil { // otherwise step 2 checked the object's kind, and the message equals it
		if err := e.verifier.kind(message); err != nil {
			return err
		}
	}
	e.message = message
	if stated, ok := message.Exception(); ok {
		e.facts.Renewal, _ = stated.Renewal()
		e.facts.Approvals = message.Approvals()
	}
	return nil
}

// At decides whether the document is valid at the time now, as [Verifier.Verify] does. It takes the
// remaining steps.
func (e *Examination) At(now time.Time) (verified *Verified, err error) {
	if e == nil || e.verifier == nil {
		return nil, errNotExamined
	}
	// Each caller gets its own slices.
	facts := e.facts
	facts.Signatures = slices.Clone(facts.Signatures)
	facts.Approvals.Names = slices.Clone(facts.Approvals.Names)
	if err = e.refused; err == nil {
		err = e.last(now, &facts)
	}
	var rejected *Rejected
	if errors.As(err, &rejected) {
		rejection := *rejected
		rejection.Facts = facts
		return nil, &rejection
	}
	if err != nil {
		return nil, err
	}
	return &Verified{message: e.message, facts: facts}, nil
}

// last takes the steps 10 and 11.
func (e *Examination) last(now time.Time, facts *Facts) (err error) {
	defer recovered(&err)
	// 10. The lifetime.
	life, err := e.verifier.lifetime(e.message, e.scope, facts.Signatures, now)
	facts.StartsAt, facts.ExpiresAt = life.StartsAt, life.ExpiresAt
	if err != nil {
		return err
	}
	// 11. Not revoked.
	return e.verifier.withdrawn(e.raw, facts.Signatures, e.scope.SignedAt())
}
