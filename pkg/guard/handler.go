package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

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

// Handler answers admission reviews (admission.k8s.io/v1), and with
// [Handler.ServeVerify] the questions of others than the API server. It denies
// whatever it cannot decide. It is safe for use by many goroutines.
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

// form is how a request to decide is put, and how it is answered.
type form interface {
	// read returns the request that a body holds, or why it holds none.
	read(raw []byte) (*admissionv1.AdmissionRequest, error)
	// uidOf finds what has to be in the answer, in a body or the beginning of one.
	uidOf(raw []byte) string
	// operation is what the log and the metrics call a request, or nil for one that
	// was not read.
	operation(request *admissionv1.AdmissionRequest) string
	write(w http.ResponseWriter, d *Decision)
}

// ServeHTTP answers one review. What is no review is answered by a status of
// HTTP, which the API server takes for a failure of the webhook.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.serve(w, r, review{}) }

func (h *Handler) serve(w http.ResponseWriter, r *http.Request, f form) {
	began := h.config.Now()
	if r.Method != http.MethodPost {
		http.Error(w, "what is to be decided is posted", http.StatusMethodNotAllowed)
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
	d := h.handle(ctx, r.Body, f)
	if d.Operation == "" {
		d.Operation = f.operation(nil)
	}
	f.write(w, d)
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

// handle reads a request and waits for its turn, in this order, so that a body that
// comes slowly holds none, and answers in time whatever becomes of the work.
func (h *Handler) handle(ctx context.Context, body io.Reader, f form) *Decision {
	select {
	case h.waiting <- struct{}{}:
		defer func() { <-h.waiting }()
	default:
		return unread(body, f, "more requests wait than the guard lets wait")
	}
	raw, err := io.ReadAll(io.LimitReader(body, small+1))
	if err == nil && len(raw) > small {
		select {
		case h.large <- struct{}{}:
			defer func() { <-h.large }()
		case <-ctx.Done():
			return denied(f.uidOf(raw), ReasonOverloaded, "too many large requests are here")
		}
		raw, err = io.ReadAll(io.LimitReader(io.MultiReader(bytes.NewReader(raw), body), MaxReview+1))
	}
	if err != nil {
		return denied(f.uidOf(raw), ReasonUndecided, "the request could not be read: "+err.Error())
	}
	if len(raw) > MaxReview {
		return denied(f.uidOf(raw), ReasonTooLarge, fmt.Sprintf("the request has more than %d bytes", MaxReview))
	}
	select {
	case h.turns <- struct{}{}:
	case <-ctx.Done():
		return denied(f.uidOf(raw), ReasonOverloaded, "its turn did not come in time")
	}
	decided := make(chan *Decision, 1)
	go func() {
		// The turn lasts as long as the work, also when nobody waits for it any more.
		defer func() { <-h.turns }()
		decided <- h.decide(ctx, raw, f)
	}()
	select {
	case d := <-decided:
		return d
	case <-ctx.Done():
		return denied(f.uidOf(raw), ReasonUndecided, "it could not be judged in time")
	}
}

// decide judges a request. Should anything panic, it is denied, and the guard
// lives on to say so.
func (h *Handler) decide(ctx context.Context, raw []byte, f form) (d *Decision) {
	defer func() {
		if p := recover(); p != nil {
			d = denied(f.uidOf(raw), ReasonUndecided, fmt.Sprintf("internal error: %v", p))
		}
	}()
	request, err := f.read(raw)
	if err != nil {
		d = &Decision{}
		d.answer("", d.Facts, err)
		return d
	}
	d = &Decision{
		UID: string(request.UID), Operation: f.operation(request), User: request.UserInfo.Username, DryRun: request.DryRun != nil && *request.DryRun,
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

// prefix is how much of a request is looked at to answer it without reading it.
const prefix = 4 << 10

// unread denies a request that there is no room to read.
func unread(body io.Reader, f form, detail string) *Decision {
	raw, _ := io.ReadAll(io.LimitReader(body, prefix))
	return denied(f.uidOf(raw), ReasonOverloaded, detail)
}
