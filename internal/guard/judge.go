package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// Count returns how many objects of a kind stand in a namespace.
type Count func(ctx context.Context, kind exception.GroupKind, namespace string) (int, error)

// judge decides requests under the rules of one moment.
type judge struct {
	rules   *Rules
	cluster string
	count   Count // of a request
	now     time.Time
}

// refusal is a denial with its reason. Facts are those of a document that was
// verified, and is refused all the same.
type refusal struct {
	reason, detail string
	facts          Facts
}

func (r *refusal) Error() string { return r.detail + " [" + r.reason + "]" }

func refuse(reason, format string, args ...any) error {
	return &refusal{reason: reason, detail: fmt.Sprintf(format, args...)}
}

// answer turns the outcome of a request into what is said of it.
func (d *Decision) answer(reason string, facts Facts, err error) {
	var rejected *verify.Rejected
	var refused *refusal
	switch {
	case errors.As(err, &rejected):
		d.Reason, d.Detail, d.Facts = rejected.Reason, rejected.Detail, factsOf(rejected.Facts)
	case errors.As(err, &refused):
		d.Reason, d.Detail, d.Facts = refused.reason, refused.detail, refused.facts
	case err != nil:
		d.Reason, d.Detail = ReasonUndecided, err.Error()
	default:
		d.Reason, d.Facts = reason, facts
	}
	d.Hint = hints[d.Reason]
}

// decide goes through the steps of the package's documentation, from the second
// on.
func (j *judge) decide(ctx context.Context, request *admissionv1.AdmissionRequest) (reason string, facts Facts, err error) {
	switch request.Operation {
	case admissionv1.Delete:
		return ReasonDeleted, facts, nil
	case admissionv1.Create, admissionv1.Update:
	default:
		return "", facts, refuse(ReasonOperationNotAllowed, "%q is not for objects that are signed", string(request.Operation))
	}
	doc, err := parseObject(request.Object.Raw, "object")
	if err != nil {
		return "", facts, err
	}
	if err := isRequested(doc, request); err != nil {
		return "", facts, err
	}
	c := change{doc: doc, update: request.Operation == admissionv1.Update, subresource: request.SubResource}
	if c.update {
		c.old, c.unreadable = parseObject(request.OldObject.Raw, "old object")
		if reason, err := c.unsealed(); reason != "" || err != nil {
			return reason, facts, err
		}
	}
	facts, err = j.signed(ctx, c)
	if err != nil && c.unchanged(j.rules.allowed) {
		return ReasonUnchanged, Facts{}, nil
	}
	return ReasonVerified, facts, err
}

// change is what a request would do.
type change struct {
	doc, old    *exception.Document // old is nil where there is none, or it cannot be read
	unreadable  error               // why it cannot
	update      bool
	subresource string
}

// signed asks for the seal of what would be stored, and what it may not say.
func (j *judge) signed(ctx context.Context, c change) (Facts, error) {
	verified, err := j.rules.verifier.Verify(c.doc, j.now)
	if err != nil {
		return Facts{}, err
	}
	facts := factsOf(verified.Facts())
	if err := j.beyondTheSeal(ctx, verified, c); err != nil {
		var refused *refusal
		if errors.As(err, &refused) {
			refused.facts = facts
		}
		return Facts{}, err
	}
	j.rules.admitted.keep(c.doc, j.cluster, facts, j.now)
	return facts, nil
}

// beyondTheSeal asks of a verified object what only this cluster knows.
func (j *judge) beyondTheSeal(ctx context.Context, verified *verify.Verified, c change) error {
	if verified.Message().Identity().Name == "" {
		return refuse(ReasonGeneratedName, "it has no name yet")
	}
	if err := j.place(verified.Message()); err != nil {
		return err
	}
	if err := j.reachesGuard(verified.Message()); err != nil {
		return err
	}
	if c.update {
		return j.rollback(verified, c.old)
	}
	return j.tooMany(ctx, verified.Message())
}

// parseObject reads an object of a request as strictly as a file.
func parseObject(raw []byte, name string) (*exception.Document, error) {
	doc, err := exception.Parse(raw, name)
	var syntax *exception.SyntaxError
	if errors.As(err, &syntax) {
		return nil, refuse(ReasonMalformed, "the %s cannot be read: %s", name, syntax.Message)
	}
	return doc, err
}

// isRequested refuses an object that is not the one that the request is about,
// or not in the version that it was written in: of what the API server made of
// it on the way here, nobody signed anything.
func isRequested(doc *exception.Document, request *admissionv1.AdmissionRequest) error {
	if asked := request.RequestKind; asked != nil && *asked != request.Kind {
		return refuse(ReasonConverted, "it was written as %s and shown as %s", asked, request.Kind.String())
	}
	name := doc.Text("metadata", "name")
	switch said := (metav1.GroupVersionKind{Group: doc.GroupKind().Group, Version: doc.Version(), Kind: doc.GroupKind().Kind}); {
	case said != request.Kind:
		return refuse(ReasonWrongObject, "the request is about a %s, and the object is a %q of %q", request.Kind.String(), said.Kind, doc.APIVersion())
	case request.Name != "" && name != request.Name, doc.Text("metadata", "namespace") != request.Namespace:
		return refuse(ReasonWrongObject, "the request is about %q in %q, and the object is %q", request.Name, request.Namespace, doc.Identity().String())
	}
	return nil
}
