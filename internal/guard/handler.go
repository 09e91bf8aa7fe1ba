package guard

import (
	"context"
	"errors"
	"fmt"
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
	// DefaultWaiting is how many more wait for their turn. What is still being read
	// is not among them, so that a slow client takes no place.
	DefaultWaiting = 256
	// DefaultReading is how many requests are read at once, of at most 64 KiB each.
	DefaultReading = 512
	// small is the most bytes of a review that is read as soon as it comes. An
	// exception has a few KiB, so that who sends much, and slowly, keeps none out.
	small = 64 << 10
	// largeWithin is how long the rest of a large request may take once it has the
	// place of one.
	largeWithin = 2 * time.Second
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
	Reading    int           // 0 is [DefaultReading]

	// Observe is told of every decision and how long it took, for the log and the
	// metrics; it may be nil.
	Observe func(*Decision, time.Duration)
}

// Handler answers admission reviews (admission.k8s.io/v1), and with
// [Handler.ServeVerify] the questions of others than the API server. It denies
// whatever it cannot decide. With [Handler.ServeDeletion] it writes deletions down,
// and allows every one. It is safe for use by many goroutines.
type Handler struct {
	config  Config
	reading readers
	large   chan struct{} // as many as may have more bytes than what is small
	waiting chan struct{} // as many as may be judged or wait for it
	turns   chan struct{} // as many as may be judged at once

	// Questions have at most half of each, for nobody has to be known to ask one.
	questionsWaiting, questionsTurns chan struct{}
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
	if c.Reading <= 0 {
		c.Reading = DefaultReading
	}
	slots := func(n int) chan struct{} { return make(chan struct{}, max(n, 1)) }
	return &Handler{
		config: c, reading: readers{most: c.Reading}, large: slots(c.Concurrent),
		waiting: slots(c.Concurrent + c.Waiting), turns: slots(c.Concurrent),
		questionsWaiting: slots((c.Concurrent + c.Waiting) / 2), questionsTurns: slots(c.Concurrent / 2),
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
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.serve(w, r, review{}, h.inTurn)
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request, f form, decide decider) {
	began := h.config.Now()
	if r.Method != http.MethodPost {
		http.Error(w, "an admission review is sent by POST", http.StatusMethodNotAllowed)
		return
	}
	// A server that is told to end cancels what it still has to answer, and that is
	// answered all the same. The deadline bounds it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), h.deadline(r))
	defer cancel()
	controller := http.NewResponseController(w)
	if until, ok := ctx.Deadline(); ok {
		// A body that never ends must not be read for ever.
		_ = controller.SetReadDeadline(until)
	}
	d := h.handle(ctx, incoming{r.Body, controller.SetReadDeadline, make(chan struct{})}, f, decide)
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
	d = about(request, f)
	rules := h.config.Rules.Rules()
	if rules == nil {
		d.answer("", d.Facts, errNoRules)
		return d
	}
	j := judge{rules: rules, cluster: h.config.Cluster, count: h.config.Count, now: h.config.Now()}
	d.answer(j.decide(ctx, request))
	return d
}

// about is a decision on a request that is still to be made.
func about(request *admissionv1.AdmissionRequest, f form) *Decision {
	return &Decision{
		UID: string(request.UID), Operation: f.operation(request), User: request.UserInfo.Username, DryRun: request.DryRun != nil && *request.DryRun,
		Object: exception.Identity{GroupKind: exception.GroupKind{Group: request.Kind.Group, Kind: request.Kind.Kind}, Namespace: request.Namespace, Name: request.Name},
	}
}

// denied is the answer to what could not be judged.
func denied(uid, reason, detail string) *Decision {
	return &Decision{UID: uid, Reason: reason, Detail: detail, Hint: hints[reason]}
}
