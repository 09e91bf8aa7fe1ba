package verify

import (
	"errors"
	"slices"
	"time"

	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
)

// Examination is a document with the verdict of every step that does not depend on
// the time. It says nothing by itself; [Examination.At] does. Its zero value holds at
// no time. It is safe for use by many goroutines.
type Examination struct {
	verifier *Verifier
	opened   opened
	extent   trust.Extent
	facts    Facts // up to the eighth step
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

// judge takes the steps from the fifth to the eighth. What it verifies on its way it
// adds to the facts.
func (e *Examination) judge(o opened) error {
	e.opened = o
	// 5. and 6. Each signature, and who made it.
	signatures := make([]Signature, len(o.sets))
	for i := range o.sets {
		var err error
		if signatures[i], err = e.verifier.signature(o.raw, o.sets[i]); err != nil {
			return inSet(err, i, len(o.sets))
		}
		e.facts.MessageDigest, e.facts.Signatures = digestOf(o.raw), signatures[:i+1]
	}
	if said, ok := o.message.Exception(); ok {
		e.facts.Renewal, _ = said.Renewal()
		e.facts.Approvals = o.message.Approvals()
	}
	// 7. Enough authorities, each within its limits.
	e.extent = trust.ExtentOf(o.message)
	if err := e.verifier.count(e.extent, signatures); err != nil {
		return err
	}
	// 8. Object and message.
	if o.applied != nil {
		if differences := seal.Compare(o.applied, o.message, maxDifferences+1); len(differences) > 0 {
			return altered(differences)
		}
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
	return &Verified{message: e.opened.message, facts: facts}, nil
}

// last takes the ninth and the tenth step.
func (e *Examination) last(now time.Time, facts *Facts) (err error) {
	defer recovered(&err)
	// 9. The lifetime.
	life, err := e.verifier.lifetime(e.opened.message, e.extent, facts.Signatures, now)
	facts.StartsAt, facts.ExpiresAt = life.StartsAt, life.ExpiresAt
	if err != nil {
		return err
	}
	// 10. Not withdrawn.
	return e.verifier.withdrawn(e.opened.raw, facts.Signatures)
}
