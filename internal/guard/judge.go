package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// refusal is a denial with its reason. Its facts come from a document that verifies and is rejected
// for another reason.
type refusal struct {
	reason, detail string
	facts          Facts
}

func (r *refusal) Error() string { return r.detail + " [" + r.reason + "]" }

func refuse(reason, format string, args ...any) error {
	return &refusal{reason: reason, detail: fmt.Sprintf(format, args...)}
}

// answer sets the verdict, the facts and the hint from the outcome of a request.
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

// decide follows the steps of the package documentation, from the second one on.
func (j *judge) decide(
	ctx context.Context, request *admissionv1.AdmissionRequest,
) (reason string, facts Facts, err error) {
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
	facts, err = j.signed(ctx, c)
	if err != nil && j.ended(doc) == nil && c.unchanged(j.rules.allowed) {
		return ReasonUnchanged, Facts{}, nil
	}
	return ReasonVerified, facts, err
}

// ends are the reasons to reject an exception that was valid until then.
var ends = []string{verify.ReasonExpired, verify.ReasonWithdrawn}

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
	if errors.As(err, &rejected) && slices.Contains(ends, rejected.Reason) {
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

// signed verifies the object that would be stored, and applies the rules of the cluster.
func (j *judge) signed(ctx context.Context, c change) (Facts, error) {
	verified, err := j.rules.verifier.Verify(c.doc, j.now)
	if err != nil {
		return Facts{}, err
	}
	facts := factsOf(verified.Facts())
	if err := j.clusterRules(ctx, verified, c); err != nil {
		var refused *refusal
		if errors.As(err, &refused) {
			refused.facts = facts
		}
		return Facts{}, err
	}
	j.rules.admitted.keep(c.doc, j.cluster, facts, j.now)
	return facts, nil
}

// clusterRules applies the rules to a verified object that only this cluster can check.
func (j *judge) clusterRules(ctx context.Context, verified *verify.Verified, c change) error {
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
		if err := j.rollback(verified, c.old); err != nil {
			return err
		}
		return c.drops()
	}
	return j.tooMany(ctx, verified.Message())
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
