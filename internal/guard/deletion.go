package guard

import (
	"context"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
)

// ServeDeletion writes one review of a DELETE down, and allows it. It waits for no
// turn, and what could not be read or judged is allowed like the rest: an exception
// less is a policy more, and a guard that is busy or away must not keep anybody, itself
// included, from deleting one. Its webhook therefore fails open.
func (h *Handler) ServeDeletion(w http.ResponseWriter, r *http.Request) {
	h.serve(w, r, deletion{}, noted)
}

// noted decides a review of a DELETE. One of something else has to be judged, and is
// refused here.
func noted(_ context.Context, raw []byte, f form) *Decision {
	request, err := f.read(raw)
	if err != nil {
		return denied(f.uidOf(raw), ReasonMalformed, err.Error())
	}
	d := about(request, f)
	if request.Operation != admissionv1.Delete {
		err = refuse(ReasonOperationNotAllowed, "this address is asked about DELETE alone, and not about %q", string(request.Operation))
	}
	d.answer(ReasonDeleted, d.Facts, err)
	return d
}

// deletion is the form of a review of a DELETE.
type deletion struct{ review }

func (deletion) operation(*admissionv1.AdmissionRequest) string { return string(admissionv1.Delete) }

func (f deletion) write(w http.ResponseWriter, d *Decision) {
	if d.Reason != ReasonOperationNotAllowed {
		d.Reason, d.Hint = ReasonDeleted, ""
	}
	f.review.write(w, d)
}
