package guard_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
)

// handler returns a handler with these rules, at the time now unless the configuration has a clock.
func handler(t testing.TB, rules *guard.Rules, c guard.Config) *guard.Handler {
	t.Helper()
	c.Rules = &guard.Current{}
	if rules != nil {
		c.Rules.Replace(rules)
	}
	if c.Now == nil {
		c.Now = func() time.Time { return now }
	}
	h, err := guard.NewHandler(c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// request returns the request of the API server about an object, as JSON.
func request(t testing.TB, operation admissionv1.Operation, raw, old []byte) *admissionv1.AdmissionRequest {
	t.Helper()
	about := raw
	if operation == admissionv1.Delete {
		about = old
	}
	doc, err := exception.Parse(about, "object")
	if err != nil {
		t.Fatal(err)
	}
	id := doc.Identity()
	r := &admissionv1.AdmissionRequest{
		UID: "5f0b", Operation: operation, Name: id.Name, Namespace: id.Namespace,
		Kind: metav1.GroupVersionKind{Group: id.Group, Version: doc.Version(), Kind: id.Kind},
	}
	r.Object.Raw, r.OldObject.Raw = raw, old
	return r
}

func asJSON(t testing.TB, o object) []byte {
	t.Helper()
	if o == nil {
		return nil
	}
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func body(t testing.TB, r *admissionv1.AdmissionRequest) []byte {
	t.Helper()
	raw, err := json.Marshal(admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: r})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// post sends a review and returns the answer.
func post(t testing.TB, h http.Handler, raw []byte) (*admissionv1.AdmissionResponse, *httptest.ResponseRecorder) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/admit?timeout=10s", bytes.NewReader(raw)))
	if w.Code != http.StatusOK {
		return nil, w
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil || review.Response == nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return review.Response, w
}

// judged returns the reason in the answer to a request.
func judged(t testing.TB, h http.Handler, r *admissionv1.AdmissionRequest) string {
	t.Helper()
	response, w := post(t, h, body(t, r))
	if response == nil {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if response.UID != r.UID {
		t.Errorf("the answer is to %q, not to %q", response.UID, r.UID)
	}
	return reasonOf(t, response)
}

// reasonOf returns the reason of an answer and checks that its parts agree.
func reasonOf(t testing.TB, response *admissionv1.AdmissionResponse) string {
	t.Helper()
	reason := response.AuditAnnotations["reason"]
	if response.Allowed {
		if response.Result != nil {
			t.Errorf("it is allowed, and says %v", response.Result)
		}
		return reason
	}
	result := response.Result
	if prefix := "[" + reason + "] "; result == nil || len(result.Message) < len(prefix) || result.Message[:len(prefix)] != prefix || result.Code < 400 ||
		string(result.Details.Causes[0].Type) != reason {
		t.Errorf("refused for %q, and it says %v", reason, result)
	}
	if len(result.Message) > 1024 {
		t.Errorf("the message has %d bytes", len(result.Message))
	}
	return reason
}
