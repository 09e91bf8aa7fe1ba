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

// Count returns the number of objects of a kind in a namespace.
type Count func(ctx context.Context, kind exception.GroupKind, namespace string) (int, error)

// judge decides requests by the rules of one moment.
type judge struct {
	rules   *Rules
	cluster string
	count   Count // for requests only
	now     time.Time
}

// refuse returns a rejection for a reason of the guard.
func refuse(reason, format string, args ...any) error {
	return &verify.Rejected{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// answer sets the verdict, the facts and the hint from the outcome of a request.
func (d *Decision) answer(reason string, facts verify.Facts, err error) {
	var rejected *verify.Rejected
	switch {
	case errors.As(err, &rejected):
		d.reject(rejected.Reason, rejected.Detail)
		facts = rejected.Facts
	case err != nil:
		d.reject(ReasonUndecided, err.Error())
	default:
		d.Reason = reason
	}
	d.Facts = factsOf(facts)
}

// reject sets the verdict and the hint. The facts stay.
func (d *Decision) reject(reason, detail string) {
	d.Reason, d.Detail, d.Hint = reason, detail, reasonOf(reason).hint
}

// verify verifies a document by the trust policy and by the rules of the cluster. A rejection by these
// has the verified facts too.
func (j *judge) verify(doc *exception.Document, check func(*verify.Verified) error) (verify.Facts, error) {
	verified, err := j.rules.verifier.Verify(doc, j.now)
	if err != nil {
		return verify.Facts{}, err
	}
	err = check(verified)
	var rejected *verify.Rejected
	switch {
	case err == nil:
		return verified.Facts(), nil
	case errors.As(err, &rejected):
		rejected.Facts = verified.Facts()
	}
	return verify.Facts{}, err
}

// stored judges a stored object.
func (j *judge) stored(doc *exception.Document) (verify.Facts, error) {
	return j.verify(doc, func(v *verify.Verified) error { return j.clusterRules(v.Message()) })
}

// clusterRules applies the rules that only this cluster can check.
func (j *judge) clusterRules(message *exception.Document) error {
	if err := j.place(message); err != nil {
		return err
	}
	return j.reachesGuard(message)
}

// decide follows the steps of the package documentation, from the second one on.
func (j *judge) decide(
	ctx context.Context, request *admissionv1.AdmissionRequest,
) (reason string, facts verify.Facts, err error) {
	switch request.Operation {
	case admissionv1.Delete:
		return ReasonDeleted, facts, nil
	case admissionv1.Create, admissionv1.Update:
	default:
		return "", facts, refuse(ReasonOperationNotAllowed, "%q is not supported for signed objects",
			string(request.Operation))
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
		reason, err := c.unsigned()
		if reason == ReasonStatus {
			err = j.ended(doc)
		}
		if reason != "" || err != nil {
			return reason, facts, err
		}
	}
	facts, err = j.verify(doc, func(v *verify.Verified) error { return j.admits(ctx, v, c) })
	if err != nil && j.ended(doc) == nil && c.unchanged(j.rules.allowed) {
		return ReasonUnchanged, verify.Facts{}, nil
	}
	return ReasonVerified, facts, err
}

// ended rejects an exception if its signed message has expired or is revoked. Such an exception may
// only be deleted: with updates that change nothing that is signed, a user could make the deletion
// conflict again and again. It looks only at the message, because the update may come in another
// version than the signed one.
func (j *judge) ended(doc *exception.Document) error {
	if !doc.GroupKind().IsException() {
		return nil
	}
	_, err := j.signedMessage(doc, doc.Identity())
	var rejected *verify.Rejected
	if errors.As(err, &rejected) &&
		(rejected.Reason == verify.ReasonExpired || rejected.Reason == verify.ReasonWithdrawn) {
		return err
	}
	return nil
}

// change is the change that a request would make.
type change struct {
	doc, old    *exception.Document // nil: there is no old object, or it cannot be read
	unreadable  error               // the error of reading old
	update      bool
	subresource string
}

// admits applies the rules of the cluster to a verified object that would be stored.
func (j *judge) admits(ctx context.Context, verified *verify.Verified, c change) error {
	if verified.Message().Identity().Name == "" {
		return refuse(ReasonGeneratedName, "it has no name yet")
	}
	if err := j.clusterRules(verified.Message()); err != nil {
		return err
	}
	if !c.update {
		return j.tooMany(ctx, verified.Message())
	}
	if err := j.rollback(verified, c.old); err != nil {
		return err
	}
	return c.drops()
}

// parseObject parses an object of a request as strictly as a file.
func parseObject(raw []byte, name string) (*exception.Document, error) {
	doc, err := exception.ParseUndeployed(raw, name)
	var syntax *exception.SyntaxError
	if errors.As(err, &syntax) {
		return nil, refuse(ReasonMalformed, "the %s cannot be read: %s", name, syntax.Message)
	}
	return doc, err
}

// isRequested rejects an object that is not the one that the request names. It also rejects an
// object in another version than the written one: the API server has then converted it, and the
// signature does not cover the result.
func isRequested(doc *exception.Document, request *admissionv1.AdmissionRequest) error {
	if kind := request.RequestKind; kind != nil && *kind != request.Kind {
		return refuse(ReasonConverted, "it was written as %s and sent to the guard as %s", kind, request.Kind.String())
	}
	name, gk := doc.Text("metadata", "name"), doc.GroupKind()
	switch kind := (metav1.GroupVersionKind{Group: gk.Group, Version: doc.Version(), Kind: gk.Kind}); {
	case kind != request.Kind:
		return refuse(ReasonWrongObject, "the request is about a %s, and the object is a %q of %q",
			request.Kind.String(), gk.Kind, doc.APIVersion())
	case request.Name != "" && name != request.Name, doc.Text("metadata", "namespace") != request.Namespace:
		return refuse(ReasonWrongObject, "the request is about %q in %q, and the object is %q",
			request.Name, request.Namespace, doc.Identity().String())
	}
	return nil
}
