package sign

import (
	"errors"
	"fmt"
	"time"

	"github.com/polex-dev/polex/internal/kyverno/schema"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/seal"
)

// The reasons for not signing a document, besides those of [schema.Check].
const (
	ReasonSignaturePresent  = "signature-present"
	ReasonDuplicateIdentity = "duplicate-identity"
	ReasonBadLifetime       = "bad-lifetime"
	ReasonNoExpiry          = "no-expiry"
	ReasonUnsignable        = "unsignable"
)

// Reasons returns the reasons of this package.
func Reasons() []exception.Reason {
	return []exception.Reason{
		{Name: ReasonSignaturePresent, Doc: "the document is signed already"},
		{Name: ReasonDuplicateIdentity, Doc: "two documents are the same object to the API server"},
		{Name: ReasonBadLifetime, Doc: "the times of the document cannot be read or contradict each other"},
		{Name: ReasonNoExpiry, Doc: "the exception never expires"},
		{Name: ReasonUnsignable, Doc: "the document has a form that cannot be signed"},
	}
}

// Rules are the requirements for signing a document, besides its schema. The zero value is the
// strictest.
type Rules struct {
	// InsecureAllowUnbounded signs exceptions that never expire.
	InsecureAllowUnbounded bool
	// TTLLabel also writes the expiry of an exception of kyverno.io as the label
	// cleanup.kyverno.io/ttl.
	TTLLabel bool
	// Terms are those of the trust policy, see [trust.Policy.Terms].
	Terms lifetime.Terms
}

// Prepare returns the documents in their final form: with an expiry that counts from now, and with
// the API server's defaults. It returns [exception.Refusals] if a document cannot be signed, or if
// two documents have the same identity.
func Prepare(docs []*exception.Document, now time.Time, rules Rules) ([]*exception.Document, error) {
	var refusals exception.Refusals
	prepared := make([]*exception.Document, 0, len(docs))
	var met exception.Identities
	for _, doc := range docs {
		if first, again := met.Add(doc); again {
			refusals = append(refusals, &exception.Refusal{Position: doc.Position(), Reason: ReasonDuplicateIdentity,
				Message: fmt.Sprintf("%s is already at %s", doc.Identity(), first),
				Hint:    "only one of the two can be applied: keep the approved one"})
			continue
		}
		out, problems := prepare(doc, now, rules)
		refusals = append(refusals, problems...)
		prepared = append(prepared, out)
	}
	if len(refusals) > 0 {
		return nil, refusals
	}
	return prepared, nil
}

func prepare(doc *exception.Document, now time.Time, rules Rules) (*exception.Document, exception.Refusals) {
	switch _, err := seal.Read(doc); {
	case errors.Is(err, seal.ErrUnsigned):
	default:
		return nil, exception.Refusals{{Position: doc.PositionOf(exception.Path{"metadata", "annotations"}),
			Reason:  ReasonSignaturePresent,
			Message: "it has signature annotations already", Hint: "remove the annotations under " + seal.Prefix +
				" to have it signed again"}}
	}
	if doc.IsList() {
		return nil, exception.Refusals{{Position: doc.PositionOf(exception.Path{"items"}), Reason: ReasonUnsignable,
			Message: `kubectl reads a document with the key "items" as a list of documents`,
			Hint:    "put each document of the list into a file of its own"}}
	}
	var refusals exception.Refusals
	for _, p := range schema.Check(doc) {
		refusals = append(refusals, &exception.Refusal{Position: doc.PositionOf(p.Path), Reason: p.Reason,
			Message: p.Message, Hint: p.Hint})
	}
	if len(refusals) > 0 {
		return nil, refusals
	}
	additions := schema.Defaults(doc)
	at := exception.Path{"metadata", "annotations", exception.AnnotationSignedAt}
	if _, says := doc.Lookup(at...); says {
		return nil, exception.Refusals{{Position: doc.PositionOf(at), Reason: ReasonBadLifetime,
			Message: "it already states its signing time", Hint: "remove the annotation: polex-sign writes it"}}
	}
	if doc.GroupKind().IsException() {
		resolved, refusal := resolve(doc, now, rules)
		if refusal != nil {
			return nil, exception.Refusals{refusal}
		}
		additions = append(additions, resolved...)
	} else if _, err := lifetime.Of(doc, rules.Terms); err != nil {
		return nil, exception.Refusals{badLifetime(doc, err)}
	}
	out, err := doc.Add(additions...)
	if err == nil {
		_, err = seal.Message(out)
	}
	if err != nil {
		return nil, exception.Refusals{{Position: doc.Position(), Reason: ReasonUnsignable, Message: err.Error()}}
	}
	return out, nil
}

func resolve(doc *exception.Document, now time.Time, rules Rules) ([]exception.Addition, *exception.Refusal) {
	additions, err := lifetime.Resolve(doc, now, rules.TTLLabel, rules.Terms)
	if err != nil {
		return nil, badLifetime(doc, err)
	}
	if life, _ := lifetime.Of(doc, rules.Terms); life.ExpiresAt.IsZero() && life.ExpiresIn == 0 &&
		!rules.InsecureAllowUnbounded {
		return nil, &exception.Refusal{Position: doc.PositionOf(exception.Path{"metadata"}), Reason: ReasonNoExpiry,
			Message: "it never expires", Hint: "add the annotation " + exception.AnnotationExpiresIn + ": 30d"}
	}
	return additions, nil
}

func badLifetime(doc *exception.Document, err error) *exception.Refusal {
	var bad *lifetime.Error
	if errors.As(err, &bad) {
		return &exception.Refusal{Position: doc.PositionOf(bad.Path), Reason: ReasonBadLifetime, Message: bad.Message,
			Hint: bad.Hint}
	}
	return &exception.Refusal{Position: doc.Position(), Reason: ReasonBadLifetime, Message: err.Error()}
}
