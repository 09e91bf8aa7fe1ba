package guard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/polex-dev/polex/internal/guard/fair"
	"github.com/polex-dev/polex/pkg/exception"
)

// Limits of a [Handler]. A [Config] can have other values than the Default ones, for tests.
const (
	// MaxReview is the maximum number of bytes of a review: enough for two objects of the largest
	// size that etcd stores.
	MaxReview = 4 << 20
	// DefaultDeadline limits the time for one request. It is shorter than the ten seconds that the
	// API server waits by default.
	DefaultDeadline = 5 * time.Second
	// DefaultConcurrent is the number of requests that are judged at once, and the number of large
	// ones that are read at once.
	DefaultConcurrent = 8
	// DefaultWaiting is the number of other requests that wait for their turn. Requests that are
	// still being read do not count, so a slow client occupies no place.
	DefaultWaiting = 256
	// DefaultReading is the number of requests of up to 64 KiB that are read at once.
	DefaultReading = 512
	// small is the maximum number of bytes of a review that is read at once. An exception has a few
	// KiB, so a client that sends much data slowly does not block exceptions.
	small = 64 << 10
	// largeWithin limits the time to read the rest of a large request after it has a place.
	largeWithin = 2 * time.Second
)

// Config is the configuration of a [Handler].
type Config struct {
	Rules   *Current
	Cluster string // the name of this cluster; "": unknown
	Now     func() time.Time
	Count   Count // counts objects for the limits; nil rejects if there is a limit

	Deadline   time.Duration // 0: [DefaultDeadline]
	Concurrent int           // 0: [DefaultConcurrent]
	Waiting    int           // 0: [DefaultWaiting]
	Reading    int           // 0: [DefaultReading]

	// Observe receives every decision and its duration, for the log and the metrics. It may be nil.
	Observe func(*Decision, time.Duration)
}

// Handler answers admission reviews (admission.k8s.io/v1). It denies all requests that it cannot
// decide. [Handler.ServeDeletion] logs deletions and allows them all. A Handler is safe for
// concurrent use.
type Handler struct {
	config  Config
	reading fair.Places[incoming]
	large   chan struct{} // one for each request beyond small
	waiting chan struct{} // one for each request that is judged or waits
	turns   chan struct{} // one for each request that is judged
}

// NewHandler returns a handler. It returns an error if there are no rules or no clock.
func NewHandler(c Config) (*Handler, error) {
	if c.Rules == nil || c.Now == nil {
		return nil, errors.New("guard: no rules or no clock")
	}
	c.Deadline = cmp.Or(c.Deadline, DefaultDeadline)
	concurrent := cmp.Or(c.Concurrent, DefaultConcurrent)
	return &Handler{
		config: c, reading: fair.Places[incoming]{Most: cmp.Or(c.Reading, DefaultReading)},
		waiting: make(chan struct{}, concurrent+cmp.Or(c.Waiting, DefaultWaiting)),
		large:   make(chan struct{}, concurrent), turns: make(chan struct{}, concurrent),
	}, nil
}

// ServeHTTP answers one review. If the body is not a review, it answers with an HTTP error, which
// the API server counts as a failure of the webhook.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.serve(w, r, func(ctx context.Context, body incoming) *Decision { return h.handle(ctx, body, h.inTurn) })
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request, handle func(context.Context, incoming) *Decision) {
	began := h.config.Now()
	if r.Method != http.MethodPost {
		http.Error(w, "an admission review is sent by POST", http.StatusMethodNotAllowed)
		return
	}
	// A server that stops cancels the contexts of open requests. They still get an answer before
	// the deadline.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), h.deadline(r))
	defer cancel()
	controller := http.NewResponseController(w)
	if until, ok := ctx.Deadline(); ok {
		// A body that never ends must not be read forever.
		_ = controller.SetReadDeadline(until)
	}
	d := handle(ctx, incoming{r.Body, r.RemoteAddr, controller.SetReadDeadline, make(chan struct{})})
	writeReview(w, d)
	if h.config.Observe != nil {
		h.config.Observe(d, h.config.Now().Sub(began))
	}
}

// deadline returns the configured deadline, or a shorter one if the API server waits less: it needs
// an answer in time. The query of the address contains its timeout.
func (h *Handler) deadline(r *http.Request) time.Duration {
	const share = 0.8
	waits, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	if err != nil || waits <= 0 {
		return h.config.Deadline
	}
	return min(h.config.Deadline, time.Duration(share*float64(waits)))
}

// decide judges a request. It denies a request that causes a panic, and the guard continues.
func (h *Handler) decide(ctx context.Context, raw []byte) (d *Decision) {
	defer func() {
		if p := recover(); p != nil {
			d = denied(uidOf(raw), ReasonUndecided, fmt.Sprintf("internal error: %v", p))
		}
	}()
	request, err := readReview(raw)
	if err != nil {
		return denied("", ReasonMalformed, err.Error())
	}
	d = about(request)
	rules := h.config.Rules.Rules()
	if rules == nil {
		d.reject(ReasonUndecided, "there is no configuration")
		return d
	}
	j := judge{rules: rules, cluster: h.config.Cluster, count: h.config.Count, now: h.config.Now()}
	d.answer(j.decide(ctx, request))
	return d
}

// about returns a decision with the facts of a request and no verdict yet.
func about(request *admissionv1.AdmissionRequest) *Decision {
	kind := exception.GroupKind{Group: request.Kind.Group, Kind: request.Kind.Kind}
	return &Decision{
		UID: string(request.UID), Operation: string(request.Operation), User: request.UserInfo.Username,
		DryRun: request.DryRun != nil && *request.DryRun,
		Object: exception.Identity{GroupKind: kind, Namespace: request.Namespace, Name: request.Name},
	}
}

// denied returns the answer to a request that was not judged.
func denied(uid, reason, detail string) *Decision {
	d := &Decision{UID: uid}
	d.reject(reason, detail)
	return d
}

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
	if d.Reason = ReasonDeleted; request.Operation != admissionv1.Delete {
		d.reject(ReasonOperationNotAllowed,
			fmt.Sprintf("this address answers only about DELETE, not about %q", string(request.Operation)))
	}
	return d
}

// inTurn decides a request after it has a place among the waiting requests and a turn. It answers before the
// deadline even if the work takes longer.
func (h *Handler) inTurn(ctx context.Context, raw []byte) *Decision {
	select {
	case h.waiting <- struct{}{}:
		defer func() { <-h.waiting }()
	default:
		return denied(uidOf(raw), ReasonOverloaded, "too many requests wait")
	}
	select {
	case h.turns <- struct{}{}:
	case <-ctx.Done():
		return denied(uidOf(raw), ReasonOverloaded, "it waited too long")
	}
	decided := make(chan *Decision, 1)
	go func() {
		// The turn lasts as long as the work, even if the client no longer waits.
		defer func() { <-h.turns }()
		decided <- h.decide(ctx, raw)
	}()
	select {
	case d := <-decided:
		return d
	case <-ctx.Done():
		return denied(uidOf(raw), ReasonUndecided, "the check took too long")
	}
}

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
