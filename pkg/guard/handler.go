package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/polex-dev/polex/pkg/exception"
)

// Bounds of what is read and done at once, where a [Config] says nothing.
const (
	// MaxReview is the most bytes of a review. Two objects of the size that etcd
	// stores at most go into it.
	MaxReview = 4 * exception.MaxDocument
	// DefaultDeadline is how long a request may take, and less than the ten
	// seconds that the API server waits for an answer unless it is told otherwise.
	DefaultDeadline = 5 * time.Second
	// DefaultConcurrent is how many requests are judged at once, and how many large
	// ones are read at once.
	DefaultConcurrent = 8
	// DefaultWaiting is how many more are read or wait for their turn.
	DefaultWaiting = 256
	// small is the most bytes of a review that is read as soon as it comes. An
	// exception has a few KiB, so that who sends much, and slowly, keeps none out.
	small = 64 << 10
)

// Config is what a [Handler] is made of.
type Config struct {
	Rules   *Current
	Cluster string           // the name of this cluster; "" is not to know
	Now     func() time.Time // the clock
	Count   Count            // for limits by count; nil is to refuse where there is one

	Deadline   time.Duration // 0 is [DefaultDeadline]
	Concurrent int           // 0 is [DefaultConcurrent]
	Waiting    int           // 0 is [DefaultWaiting]

	// Observe is told of every decision and how long it took, for the log and the
	// metrics; it may be nil.
	Observe func(*Decision, time.Duration)
}

// Handler answers admission reviews (admission.k8s.io/v1). It denies whatever it
// cannot decide. It is safe for use by many goroutines.
type Handler struct {
	config  Config
	turns   chan struct{} // as many as may be judged at once
	large   chan struct{} // as many as may have more bytes than what is small
	waiting chan struct{} // as many as may be here at all
}

// NewHandler makes a handler. One without rules or a clock is an error.
func NewHandler(c Config) (*Handler, error) {
	if c.Rules == nil || c.Now == nil {
		return nil, errors.New("guard: no rules or no clock")
	}
	if c.Deadline <= 0 {
		c.Deadline = DefaultDeadline
	}
	if c.Concurrent <= 0 {
		c.Concurrent = DefaultConcurrent
	}
	if c.Waiting <= 0 {
		c.Waiting = DefaultWaiting
	}
	return &Handler{
		config: c, turns: make(chan struct{}, c.Concurrent), large: make(chan struct{}, c.Concurrent), waiting: make(chan struct{}, c.Concurrent+c.Waiting),
	}, nil
}

// ServeHTTP answers one review. What is no review is answered by a status of
// HTTP, which the API server takes for a failure of the webhook.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := h.config.Now()
	if r.Method != http.MethodPost {
		http.Error(w, "an admission review is posted", http.StatusMethodNotAllowed)
		return
	}
	// A server that is told to end cancels what it still has to answer, and that is
	// answered all the same. The deadline bounds it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), h.deadline(r))
	defer cancel()
	if until, ok := ctx.Deadline(); ok {
		// A body that never ends must not hold its turn.
		_ = http.NewResponseController(w).SetReadDeadline(until)
	}
	d := h.handle(ctx, r.Body)
	if d.UID == "" {
		// Without its uid there is nothing to answer.
		http.Error(w, d.Message(), max(int(d.Code()), http.StatusBadRequest))
	} else {
		write(w, d)
	}
	if h.config.Observe != nil {
		h.config.Observe(d, h.config.Now().Sub(began))
	}
}

// deadline is the configured one, or less where the API server, which says in the
// address how long it waits, waits less: it has to get an answer.
func (h *Handler) deadline(r *http.Request) time.Duration {
	const share = 0.8
	waits, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	if err != nil || waits <= 0 {
		return h.config.Deadline
	}
	return min(h.config.Deadline, time.Duration(share*float64(waits)))
}

// handle reads a review and waits for its turn, in this order, so that a body that
// comes slowly holds none, and answers in time whatever becomes of the work.
func (h *Handler) handle(ctx context.Context, body io.Reader) *Decision {
	select {
	case h.waiting <- struct{}{}:
		defer func() { <-h.waiting }()
	default:
		return unread(body, ReasonOverloaded, "more requests wait than the guard lets wait")
	}
	raw, err := io.ReadAll(io.LimitReader(body, small+1))
	if err == nil && len(raw) > small {
		select {
		case h.large <- struct{}{}:
			defer func() { <-h.large }()
		case <-ctx.Done():
			return denied(uidOf(raw), ReasonOverloaded, "too many large reviews are here")
		}
		raw, err = io.ReadAll(io.LimitReader(io.MultiReader(bytes.NewReader(raw), body), MaxReview+1))
	}
	if err != nil {
		return denied(uidOf(raw), ReasonUndecided, "the review could not be read: "+err.Error())
	}
	if len(raw) > MaxReview {
		return denied(uidOf(raw), ReasonTooLarge, fmt.Sprintf("the review has more than %d bytes", MaxReview))
	}
	select {
	case h.turns <- struct{}{}:
	case <-ctx.Done():
		return denied(uidOf(raw), ReasonOverloaded, "its turn did not come in time")
	}
	decided := make(chan *Decision, 1)
	go func() {
		// The turn lasts as long as the work, also when nobody waits for it any more.
		defer func() { <-h.turns }()
		decided <- h.decide(ctx, raw)
	}()
	select {
	case d := <-decided:
		return d
	case <-ctx.Done():
		return denied(uidOf(raw), ReasonUndecided, "it could not be judged in time")
	}
}

// decide judges a review. Should anything panic, it is denied, and the guard
// lives on to say so.
func (h *Handler) decide(ctx context.Context, raw []byte) (d *Decision) {
	defer func() {
		if p := recover(); p != nil {
			d = denied(uidOf(raw), ReasonUndecided, fmt.Sprintf("internal error: %v", p))
		}
	}()
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(raw, &review); err != nil || review.Request == nil || review.Request.UID == "" || review.APIVersion != admissionv1.SchemeGroupVersion.String() {
		return denied("", ReasonMalformed, "this is no review of "+admissionv1.SchemeGroupVersion.String())
	}
	request := review.Request
	d = &Decision{
		UID: string(request.UID), Operation: string(request.Operation), User: request.UserInfo.Username, DryRun: request.DryRun != nil && *request.DryRun,
		Object: exception.Identity{GroupKind: exception.GroupKind{Group: request.Kind.Group, Kind: request.Kind.Kind}, Namespace: request.Namespace, Name: request.Name},
	}
	rules := h.config.Rules.Rules()
	if rules == nil {
		d.answer("", d.Facts, errNoRules)
		return d
	}
	j := judge{rules: rules, cluster: h.config.Cluster, count: h.config.Count, now: h.config.Now()}
	d.answer(j.decide(ctx, request))
	return d
}

// denied is the answer to what could not be judged.
func denied(uid, reason, detail string) *Decision {
	return &Decision{UID: uid, Reason: reason, Detail: detail, Hint: hints[reason]}
}

// write answers a review.
func write(w http.ResponseWriter, d *Decision) {
	response := &admissionv1.AdmissionResponse{UID: types.UID(d.UID), Allowed: d.Allowed(), AuditAnnotations: d.audit()}
	if !d.Allowed() {
		response.Result = &metav1.Status{
			Status: metav1.StatusFailure, Code: d.Code(), Message: d.Message(), Reason: statusReasons[d.Code()],
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseType(d.Reason), Message: d.Message()}}},
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Response: response,
	})
}

// statusReasons are what Kubernetes calls the codes of a denial.
var statusReasons = map[int32]metav1.StatusReason{
	http.StatusForbidden:             metav1.StatusReasonForbidden,
	http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
	http.StatusTooManyRequests:       metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError:   metav1.StatusReasonInternalError,
}

// audit is what the API server writes into its audit log beside the request.
func (d *Decision) audit() map[string]string {
	said := map[string]string{"reason": d.Reason}
	if authority := d.Authority(); authority != "" {
		said["authority"] = authority
	}
	if d.Facts.MessageDigest != "" {
		said["message-digest"] = d.Facts.MessageDigest
	}
	return said
}
