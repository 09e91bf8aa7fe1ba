package guard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// readReview decodes a review of admission.k8s.io/v1, the request of an API server.
func readReview(raw []byte) (*admissionv1.AdmissionRequest, error) {
	var r admissionv1.AdmissionReview
	version := admissionv1.SchemeGroupVersion
	err := json.Unmarshal(raw, &r)
	if err != nil || r.Request == nil || r.Request.UID == "" || r.APIVersion != version.String() {
		return nil, fmt.Errorf("the body is not a review of %s", version)
	}
	return r.Request, nil
}

// writeReview writes the answer to a review.
func writeReview(w http.ResponseWriter, d *Decision) {
	if d.UID == "" {
		// The API server cannot match an answer without the uid.
		http.Error(w, d.Message(), max(int(d.Code()), http.StatusBadRequest))
		return
	}
	response := &admissionv1.AdmissionResponse{UID: types.UID(d.UID), Allowed: d.Allowed(), AuditAnnotations: d.audit()}
	if !d.Allowed() {
		response.Result = &metav1.Status{
			Status: metav1.StatusFailure, Code: d.Code(), Message: d.Message(), Reason: statusReasons[d.Code()],
			Details: &metav1.StatusDetails{
				Causes: []metav1.StatusCause{{Type: metav1.CauseType(d.Reason), Message: d.Message()}},
			},
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Response: response,
	})
}

// statusReasons are the names of the status codes in Kubernetes.
var statusReasons = map[int32]metav1.StatusReason{
	http.StatusForbidden:             metav1.StatusReasonForbidden,
	http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
	http.StatusTooManyRequests:       metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError:   metav1.StatusReasonInternalError,
}

// audit returns the annotations that the API server adds to its audit log.
func (d *Decision) audit() map[string]string {
	annotations := map[string]string{"reason": d.Reason}
	if authority := d.Authority(); authority != "" {
		annotations["authority"] = authority
	}
	if d.Facts.MessageDigest != "" {
		annotations["message-digest"] = d.Facts.MessageDigest
	}
	return annotations
}

// firstUID is the beginning of a review. The API server writes request.uid as the first field of the
// request, before any text that a user chooses.
var firstUID = regexp.MustCompile(`^\s*\{(?:[^{}]|\{[^{}]*\})*"request"\s*:\s*\{\s*"uid"\s*:\s*"([^"\\]*)"`)

// uidOf finds request.uid in the beginning of a review, or returns "". The API server ignores an answer
// without it.
func uidOf(raw []byte) string {
	if match := firstUID.FindSubmatch(raw[:min(len(raw), prefix)]); match != nil {
		return string(match[1])
	}
	return ""
}
