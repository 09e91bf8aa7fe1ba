package guard

import (
	"context"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
)

// ServeDeletion logs the review of a DELETE and allows it, also if it cannot be read or judged. It
// does not wait for a turn. Without the exception, the policy applies again, so a deletion does no
// harm. A guard that is busy or absent must not prevent anybody, itself included, from deleting an
// exception. Therefore this webhook fails open.
func (h *Handler) ServeDeletion(w http.ResponseWriter, r *http.Request) {
	h.serve(w, r, func(ctx context.Context, body incoming) *Decision {
		d := h.handle(ctx, body, noted)
		d.Operation = string(admissionv1.Delete)
		if d.Reason != ReasonOperationNotAllowed {
			d.Reason, d.Hint = ReasonDeleted, ""
		}
		return d
	})
}

// noted decides the review of a DELETE. It rejects other operations, because they have to be
// verified.
func noted(_ context.Context, raw []byte) *Decision {
	request, err := readReview(raw)
	if err != nil {
		return denied(uidOf(raw), ReasonMalformed, err.Error())
	}
	d := about(request)
	if request.Operation != admissionv1.Delete {
		err = refuse(ReasonOperationNotAllowed, "this address answers only about DELETE, not about %q",
			string(request.Operation))
	}
	d.answer(ReasonDeleted, d.Facts, err)
	return d
}
