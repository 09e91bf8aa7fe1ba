package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OperationVerify names a [Question] in the log and the metrics.
const OperationVerify = "VERIFY"

// Question asks for the decision on a CREATE or UPDATE. Its fields have the names and meanings of
// an admission request. A missing field is empty, so an object that has a value for it is rejected.
type Question struct {
	Operation   admissionv1.Operation    `json:"operation"`
	Kind        metav1.GroupVersionKind  `json:"kind"`
	RequestKind *metav1.GroupVersionKind `json:"requestKind,omitempty"`
	Namespace   string                   `json:"namespace"`
	Name        string                   `json:"name,omitempty"`
	SubResource string                   `json:"subResource,omitempty"`
	User        string                   `json:"user,omitempty"`
	DryRun      bool                     `json:"dryRun,omitempty"`

	// Object and OldObject are JSON in a string. A client that passes them on as values may change
	// numbers and types.
	Object    string `json:"object"`
	OldObject string `json:"oldObject,omitempty"`
}

// Answer is the answer to a [Question]. Its zero value denies.
type Answer struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason"`
	// Message is one line of at most 1 KiB, as in the answer to an admission review. For a verified
	// object it names the signer and the expiry.
	Message string `json:"message"`
	// Signer describes the signer of the first verified signature, in at most 1 KiB.
	Signer string `json:"signer,omitempty"`
	// Until is the expiry (RFC 3339) of an exception that verifies.
	Until string `json:"until,omitempty"`
}

// ServeVerify answers one [Question] with an [Answer]. The status is 200 for every verdict. Another
// status means that the guard could not decide; this is a denial too. Questions share the limits of
// the admission reviews and get at most half of them.
func (h *Handler) ServeVerify(w http.ResponseWriter, r *http.Request) {
	h.serve(w, r, question{}, h.asked)
}

// asked decides a question within the half of the limits that questions get.
func (h *Handler) asked(ctx context.Context, raw []byte, f form) *Decision {
	return h.queue(ctx, raw, f, []chan struct{}{h.questionsWaiting, h.waiting}, []chan struct{}{h.questionsTurns, h.turns})
}

// question is the form of a [Question].
type question struct{}

func (question) read(raw []byte) (*admissionv1.AdmissionRequest, error) {
	var q Question
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	err := dec.Decode(&q)
	if _, more := dec.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("there is more than one value")
	}
	if err != nil {
		return nil, refuse(ReasonMalformed, "the body is not a valid question: %s", err)
	}
	if q.Operation != admissionv1.Create && q.Operation != admissionv1.Update {
		// The log and the metrics would count a DELETE as if it had happened.
		return nil, refuse(ReasonOperationNotAllowed, "%q is not CREATE or UPDATE", string(q.Operation))
	}
	request := &admissionv1.AdmissionRequest{
		Operation: q.Operation, Kind: q.Kind, RequestKind: q.RequestKind, Namespace: q.Namespace, Name: q.Name, SubResource: q.SubResource, DryRun: &q.DryRun,
	}
	request.UserInfo.Username = q.User
	request.Object.Raw, request.OldObject.Raw = []byte(q.Object), []byte(q.OldObject)
	return request, nil
}

func (question) uidOf([]byte) string { return "" }

func (question) operation(*admissionv1.AdmissionRequest) string { return OperationVerify }

func (question) write(w http.ResponseWriter, d *Decision) {
	a := Answer{Allowed: d.Allowed(), Reason: d.Reason, Message: d.Summary(), Signer: escape(d.signer(), maxMessage)}
	if end := d.Facts.ExpiresAt; !end.IsZero() {
		a.Until = end.UTC().Format(time.RFC3339)
	}
	w.Header().Set("Content-Type", "application/json")
	if code, undecided := codes[d.Reason]; undecided {
		w.WriteHeader(int(code))
	}
	_ = json.NewEncoder(w).Encode(a)
}
