package verify

import (
	"errors"
	"fmt"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
)

// Verifier verifies documents under one trust policy. It is safe for use by
// many goroutines.
type Verifier struct {
	policy  *trust.Policy
	keyless *evidenceVerifier   // nil where no authority is keyless
	keys    []*evidenceVerifier // one for each authority that is a key
}

// New makes a verifier for a policy. A nil policy is an error.
func New(policy *trust.Policy) (*Verifier, error) {
	if policy == nil {
		return nil, errors.New("verify: no trust policy")
	}
	v := &Verifier{policy: policy}
	for _, a := range policy.Authorities() {
		if a.Key() == nil {
			continue
		}
		key, err := newKeyVerifier(policy.Root(), a)
		if err != nil {
			return nil, fmt.Errorf("verify: authority %q: %w", a.Name(), err)
		}
		v.keys = append(v.keys, key)
	}
	if policy.Root().Issues() && (policy.Root().Logs() || policy.Root().Timestamps()) {
		keyless, err := newKeylessVerifier(policy.Root())
		if err != nil {
			return nil, fmt.Errorf("verify: %w", err)
		}
		v.keyless = keyless
	}
	return v, nil
}

// Verify decides whether the document counts at the time now. It returns a
// *[Rejected] when it does not, and any other error when it could not decide.
func (v *Verifier) Verify(doc *exception.Document, now time.Time) (verified *Verified, err error) {
	if doc == nil {
		return nil, errors.New("verify: no document")
	}
	// The libraries below parse hostile bytes. Should one of them panic, the
	// document is not verified, and the process lives on to say so.
	defer func() {
		if p := recover(); p != nil {
			verified, err = nil, fmt.Errorf("verify: internal error: %v", p)
		}
	}()

	var facts Facts
	message, err := v.open(doc, now, &facts)
	var rejected *Rejected
	if errors.As(err, &rejected) {
		rejected.Facts = facts
	}
	if err != nil {
		return nil, err
	}
	return &Verified{message: message, facts: facts}, nil
}

// open goes through the steps of the package's documentation, from the second
// on, and returns the message that was signed. What it verifies on its way it
// adds to the facts.
func (v *Verifier) open(doc *exception.Document, now time.Time, facts *Facts) (*exception.Document, error) {
	// 2. The kind.
	if gk := doc.GroupKind(); !v.policy.AllowsKind(gk) {
		return nil, reject(ReasonKindNotAllowed, "the trust policy does not speak of the kind %q", gk.String())
	}
	// 3. The signature sets.
	sealed, err := seal.Read(doc)
	if errors.Is(err, seal.ErrUnsigned) {
		return nil, reject(ReasonUnsigned, "it is not signed")
	}
	if err != nil {
		return nil, rejectCause(ReasonMalformedSeal, err, "its seal cannot be read: %s", err)
	}
	// 4. The message.
	message, err := seal.ParseMessage(sealed.Message)
	if err != nil {
		return nil, rejectCause(ReasonBadMessage, err, "the signed message cannot be read: %s", err)
	}
	// 5. and 6. Each signature, and who made it.
	signatures := make([]Signature, len(sealed.Signatures))
	for i := range sealed.Signatures {
		signatures[i], err = v.signature(sealed.Message, sealed.Signatures[i])
		if err != nil {
			return nil, inSet(err, i, len(sealed.Signatures))
		}
		facts.MessageDigest, facts.Signatures = digestOf(sealed.Message), signatures[:i+1]
	}
	// 7. Enough authorities.
	if err := v.count(signatures); err != nil {
		return nil, err
	}
	// 8. Object and message.
	if differences := seal.Compare(doc, message, maxDifferences+1); len(differences) > 0 {
		return nil, altered(differences)
	}
	// 9. The lifetime.
	life, err := v.lifetime(message, signatures, now)
	facts.StartsAt, facts.ExpiresAt = life.StartsAt, life.ExpiresAt
	if err != nil {
		return nil, err
	}
	// 10. Not withdrawn.
	if err := v.withdrawn(sealed.Message, signatures); err != nil {
		return nil, err
	}
	return message, nil
}

// inSet names the signature set that a refusal is about, where there are more.
func inSet(err error, index, sets int) error {
	var rejected *Rejected
	if sets > 1 && errors.As(err, &rejected) {
		return &Rejected{Reason: rejected.Reason, Detail: fmt.Sprintf("signature %d: %s", index, rejected.Detail), Cause: rejected.Cause}
	}
	return err
}

const maxDifferences = 3

func altered(differences []seal.Difference) error {
	detail := "it is not what was signed: "
	for i, d := range differences {
		switch {
		case i == maxDifferences:
			detail += "; and more"
		case i > 0:
			detail += "; " + d.String()
		default:
			detail += d.String()
		}
	}
	return &Rejected{Reason: ReasonAltered, Detail: detail}
}

func reject(reason Reason, format string, args ...any) error {
	return &Rejected{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

func rejectCause(reason Reason, cause error, format string, args ...any) error {
	return &Rejected{Reason: reason, Detail: fmt.Sprintf(format, args...), Cause: cause}
}
