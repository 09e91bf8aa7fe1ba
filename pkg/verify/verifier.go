package verify

import (
	"errors"
	"fmt"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
)

// Verifier verifies documents with one trust policy. Many goroutines can use it.
type Verifier struct {
	policy  *trust.Policy
	keyless *evidenceVerifier   // nil if the root cannot verify keyless signatures
	keys    []*evidenceVerifier // one for each key
}

// FromFile makes a verifier for the trust policy in a file, see [trust.FromFile]. The file must be
// the caller's own. Never use one from the source of the documents.
func FromFile(path string) (*Verifier, error) {
	policy, err := trust.FromFile(path)
	if err != nil {
		return nil, err
	}
	return New(policy)
}

// Policy returns the trust policy.
func (v *Verifier) Policy() *trust.Policy { return v.policy }

// Terms returns the settings of the trust policy for reading an expiry.
func (v *Verifier) Terms() lifetime.Terms { return v.policy.Rules().Terms }

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
		if err := v.addKey(a); err != nil {
			return nil, fmt.Errorf("verify: authority %q: %w", a.Name(), err)
		}
	}
	if policy.Root().Issues() && (policy.Root().Logs() || policy.Root().Timestamps()) {
		v.keyless = newKeylessVerifier(policy.Root())
	}
	return v, nil
}

// addKey makes the verifier for the key of an authority. Authorities with the same key share one.
func (v *Verifier) addKey(a *trust.Authority) error {
	for _, known := range v.keys {
		if known.authority.SameKey(a) {
			known.withoutLog = known.withoutLog || a.WithoutLog()
			return nil
		}
	}
	e, err := newKeyVerifier(v.policy.Root(), a)
	v.keys = append(v.keys, e)
	return err
}

// Verify decides whether the document is valid at the time now. It returns a *[Rejected] if it is
// rejected, and any other error if it could not decide.
func (v *Verifier) Verify(doc *exception.Document, now time.Time) (*Verified, error) {
	return v.Examine(doc).At(now)
}

// Examine takes the steps of [Verifier.Verify] that do not depend on the time: the costly steps 2
// to 9. Use it to ask about several times. It always returns an examination; [Examination.At]
// returns the verdict, also for a document that is rejected at any time.
func (v *Verifier) Examine(doc *exception.Document) *Examination {
	return v.examination(func(e *Examination) error {
		if doc == nil {
			return errors.New("verify: no document")
		}
		o, err := v.open(doc)
		if err != nil {
			return err
		}
		return e.judge(o)
	})
}

// Predecessor verifies a document that another one renews, and returns its signed message. It
// verifies an expired document as of the last second before its expiry. A revoked document is
// rejected even if it is expired. It returns no *[Verified], since an expired document is valid for
// nothing else.
func (v *Verifier) Predecessor(doc *exception.Document, now time.Time) (*exception.Document, error) {
	examined := v.Examine(doc)
	verified, err := examined.At(now)
	var rejected *Rejected
	if errors.As(err, &rejected) && rejected.Reason == ReasonExpired {
		verified, err = examined.At(rejected.Facts.ExpiresAt.Add(-time.Second))
	}
	if err != nil {
		return nil, err
	}
	return verified.message, nil
}

// open takes the steps 2 and 3.
func (v *Verifier) open(doc *exception.Document) (opened, error) {
	// 2. The kind.
	if err := v.kind(doc); err != nil {
		return opened{}, err
	}
	// 3. The signature sets.
	read, spelling, err := seal.Open(doc)
	if errors.Is(err, seal.ErrUnsigned) {
		return opened{}, reject(ReasonUnsigned, "it is not signed")
	}
	if err != nil {
		return opened{}, rejectCause(ReasonMalformedSignature, err, "its signature annotations cannot be read: %s", err)
	}
	if err := seal.CheckForm(read.Message); err != nil {
		return opened{}, rejectCause(ReasonBadMessage, err, "the signed message cannot be read: %s", err)
	}
	return opened{raw: read.Message, sets: read.Signatures, spelling: spelling, applied: doc}, nil
}

// recovered turns a panic into an error. The libraries parse hostile bytes. If one of them panics,
// the document is not verified, and the process continues.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("verify: internal error: %v", p)
	}
}

func (v *Verifier) kind(doc *exception.Document) error {
	if doc.IsList() {
		return reject(ReasonKindNotAllowed,
			"kubectl reads a document with the key \"items\" as a list of documents, and none of them is signed")
	}
	switch gk := doc.GroupKind(); {
	case !v.policy.AllowsKind(gk) && gk.Kind == "":
		return reject(ReasonKindNotAllowed, "the document has no kind")
	case !v.policy.AllowsKind(gk):
		return reject(ReasonKindNotAllowed, "kind %s is not in the trust policy (kinds)", gk)
	}
	return nil
}

// opened is a document with its signature annotations read, before any verification.
type opened struct {
	raw      []byte // the signed bytes, parsed after the signatures are verified
	sets     []seal.Signature
	spelling func() error        // checks the encoding of the annotations; nil without annotations
	applied  *exception.Document // the object with the annotations; nil without annotations
}

// inSet adds the number of the signature set to a rejection if there are several.
func inSet(err error, index, sets int) error {
	var rejected *Rejected
	if sets > 1 && errors.As(err, &rejected) {
		return &Rejected{Reason: rejected.Reason, Detail: fmt.Sprintf("signature %d: %s", index, rejected.Detail),
			Cause: rejected.Cause}
	}
	return err
}

func reject(reason string, format string, args ...any) error {
	return &Rejected{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

func rejectCause(reason string, cause error, format string, args ...any) error {
	return &Rejected{Reason: reason, Detail: fmt.Sprintf(format, args...), Cause: cause}
}
