package guard_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestNotReviews: a body that is not a review gets an HTTP error, which the API server counts as a failure.
func TestNotReviews(t *testing.T) {
	h := handler(t, inWorld(t).rules(t, guard.Settings{}, nil), guard.Config{})
	for name, tc := range map[string]struct {
		raw  string
		want int
	}{
		"nothing":           {"", 403},
		"no JSON":           {"{", 403},
		"another version":   {`{"apiVersion":"admission.k8s.io/v1beta1","request":{"uid":"1"}}`, 403},
		"no request":        {`{"apiVersion":"admission.k8s.io/v1"}`, 403},
		"no uid":            {`{"apiVersion":"admission.k8s.io/v1","request":{}}`, 403},
		"without end":       {strings.Repeat("x", guard.MaxReview+1), 413},
		"another structure": {`[{"uid":"1"}]`, 403},
	} {
		t.Run(name, func(t *testing.T) {
			response, w := post(t, h, []byte(tc.raw))
			expect.That(t, response == nil && w.Code == tc.want, "%d %s, want %d", w.Code, w.Body, tc.want)
		})
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/admit", nil))
	expect.That(t, w.Code == http.StatusMethodNotAllowed, "GET: %d", w.Code)
}

// TestUIDOfUnreadReview: a review that is not parsed is denied with the uid that the API server wrote
// first, and with none that stands elsewhere.
func TestUIDOfUnreadReview(t *testing.T) {
	h := handler(t, inWorld(t).rules(t, guard.Settings{}, nil), guard.Config{})
	for raw, want := range map[string]string{
		`{"apiVersion":"admission.k8s.io/v1","request":{"uid":"1",`:                           "1",
		`{"apiVersion":"admission.k8s.io/v1","request":{"kind":{"kind":"x"},"uid":"2",`:       "",
		`{"apiVersion":"admission.k8s.io/v1","request":["uid","3"`:                            "",
		`{"apiVersion":"admission.k8s.io/v1","kind":{"uid":"4"},"request":{"uid":"5",`:        "5",
		`{"apiVersion":"admission.k8s.io/v1","uid":"6",`:                                      "",
		`{"apiVersion":"admission.k8s.io/v1","request":{"name":"uid","namespace":"7","x":"8"`: "",
	} {
		got := ""
		if response, w := post(t, h, []byte(raw+strings.Repeat(" ", guard.MaxReview))); response != nil {
			got = string(response.UID)
		} else if w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: status %d", raw, w.Code)
		}
		expect.That(t, got == want, "%s: uid %q, want %q", raw, got, want)
	}
}

// TestTooLarge: a review beyond the limit is denied with its uid. So is an object that is within
// the limit of a review but beyond that of a document.
func TestTooLarge(t *testing.T) {
	w := inWorld(t)
	h := handler(t, w.rules(t, guard.Settings{}, nil), guard.Config{})
	for name, tc := range map[string]struct {
		filler int
		want   string
	}{
		"beyond a document": {exception.MaxDocument + 1, "malformed"},
		"beyond a review":   {guard.MaxReview, "too-large"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, create, asJSON(t, object{"apiVersion": "kyverno.io/v2", "kind": "PolicyException", "metadata": object{"name": "a", "namespace": "b"}}), nil)
			r.Object.Raw = asJSON(t, object{"apiVersion": "kyverno.io/v2", "kind": "PolicyException", "metadata": object{"name": "a", "namespace": "b"}, "spec": strings.Repeat("x", tc.filler)})
			expect.Is(t, "result", tc.want, judged(t, h, r))
		})
	}
}

// TestWithoutRules: without a configuration, nothing is allowed.
func TestWithoutRules(t *testing.T) {
	r := request(t, create, asJSON(t, object{"apiVersion": "kyverno.io/v2", "kind": "PolicyException", "metadata": object{"name": "a", "namespace": "b"}}), nil)
	expect.Is(t, "reason", "undecided", judged(t, handler(t, nil, guard.Config{}), r))
}

// stalled is a handler with requests that wait in Count until the test releases them.
type stalled struct {
	*guard.Handler
	arrived, release chan struct{}
}

func stall(t *testing.T, c guard.Config) *stalled {
	t.Helper()
	s := &stalled{arrived: make(chan struct{}, 100), release: make(chan struct{})}
	c.Count = func(context.Context, exception.GroupKind, string) (int, error) {
		s.arrived <- struct{}{}
		<-s.release
		return 0, nil
	}
	s.Handler = handler(t, inWorld(t).rules(t, guard.Settings{MaxPerNamespace: 1}, nil), c)
	return s
}

func signed(t *testing.T) *admissionv1.AdmissionRequest {
	t.Helper()
	return request(t, create, asJSON(t, inWorld(t).sealed(t, draft("a", "exceptions", hour, ""), now.Add(-time.Minute))), nil)
}

// TestDeadline: a request that takes too long is denied before its work ends. A shorter timeout of
// the API server takes precedence.
func TestDeadline(t *testing.T) {
	s := stall(t, guard.Config{Deadline: time.Nanosecond})
	got := judged(t, s, signed(t))
	expect.That(t, got == "undecided" || got == "overloaded", "%q, want undecided", got)
	close(s.release)

	patient := stall(t, guard.Config{Deadline: time.Hour})
	defer close(patient.release)
	w := httptest.NewRecorder()
	patient.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/admit?timeout=1ms", bytes.NewReader(body(t, signed(t)))))
	expect.That(t, strings.Contains(w.Body.String(), "too long"), "%d %s", w.Code, w.Body)
}

// TestServerEnds: a request that has arrived is decided, also when the server is shutting down.
func TestServerEnds(t *testing.T) {
	h := handler(t, inWorld(t).rules(t, guard.Settings{}, nil), guard.Config{Deadline: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // the work may or may not be finished, so repeat
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/admit", bytes.NewReader(body(t, signed(t)))))
		must.That(t, strings.Contains(w.Body.String(), `"reason":"verified"`), "%d %s", w.Code, w.Body)
	}
}

// TestConcurrent: at the limit of concurrent requests, a few more wait, and all others are rejected as overloaded.
func TestConcurrent(t *testing.T) {
	s := stall(t, guard.Config{Deadline: time.Minute, Concurrent: 2, Waiting: 3})
	raw := body(t, signed(t))
	answers := make(chan *admissionv1.AdmissionResponse)
	for range 10 {
		go func() {
			response, _ := post(t, s, raw)
			answers <- response
		}()
	}
	for range 5 {
		response := <-answers
		if got := reasonOf(t, response); got != "overloaded" || response.Result.Code != http.StatusTooManyRequests || response.UID != "5f0b" {
			t.Errorf("%q: %v", got, response.Result)
		}
	}
	<-s.arrived
	<-s.arrived
	select {
	case <-s.arrived:
		t.Error("a third one is worked on")
	default:
	}
	close(s.release)
	for range 5 {
		expect.Is(t, "reason", "verified", reasonOf(t, <-answers))
	}
}

// TestSlowBodies: small and large bodies that do not end occupy no turn of complete ones.
func TestSlowBodies(t *testing.T) {
	h := handler(t, inWorld(t).rules(t, guard.Settings{}, nil), guard.Config{Deadline: time.Minute, Concurrent: 2, Waiting: 20})
	var slow sync.WaitGroup
	defer slow.Wait()
	for n := range 12 {
		body, sender := io.Pipe()
		defer sender.Close()
		slow.Go(func() {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/admit", body))
		})
		sent := []byte("{")
		if n < 2 { // the number of large requests
			sent = bytes.Repeat([]byte(" "), 1<<20)
		}
		must.Get(sender.Write(sent))(t)
	}
	expect.Is(t, "reason", "verified", judged(t, h, signed(t)))
}

// TestBodiesThatCannotBeStopped: at the limit of bodies, a new one is denied if no other can be stopped.
func TestBodiesThatCannotBeStopped(t *testing.T) {
	for reading, want := range map[int]string{1: "overloaded", 2: "verified"} {
		h := handler(t, inWorld(t).rules(t, guard.Settings{}, nil), guard.Config{Deadline: time.Minute, Reading: reading})
		body, sender := io.Pipe()
		var slow sync.WaitGroup
		slow.Go(func() { // this writer has no deadline for reads
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/admit", body))
		})
		must.Get(sender.Write([]byte("{")))(t)
		expect.Is(t, fmt.Sprintf("%d at once", reading), want, judged(t, h, signed(t)))
		_ = sender.Close()
		slow.Wait()
	}
}

// TestLarge: the number of large reviews in memory is limited.
func TestLarge(t *testing.T) {
	h := handler(t, inWorld(t).rules(t, guard.Settings{}, nil), guard.Config{Deadline: time.Hour, Concurrent: 1})
	slowly, sender := io.Pipe()
	var slow sync.WaitGroup
	defer slow.Wait()
	defer sender.Close()
	slow.Go(func() {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/admit", slowly))
	})
	must.Get(sender.Write(bytes.Repeat([]byte(" "), 1<<20)))(t)
	r := signed(t)
	r.OldObject.Raw = []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/admit?timeout=10ms", bytes.NewReader(body(t, r))))
	expect.That(t, strings.Contains(w.Body.String(), "too many large requests arrive at once"), "%d %s", w.Code, w.Body)
}

// TestBrokenBody: a body that ends too early is denied.
func TestBrokenBody(t *testing.T) {
	h := handler(t, inWorld(t).rules(t, guard.Settings{}, nil), guard.Config{})
	raw := body(t, signed(t))
	w := httptest.NewRecorder()
	broken := io.MultiReader(bytes.NewReader(raw[:len(raw)-20]), errorReader{})
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/admit", broken))
	if !strings.Contains(w.Body.String(), `"allowed":false`) || !strings.Contains(w.Body.String(), "[undecided]") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, errors.New("gone") }

// TestMessage: for every object, the message is one printable line of at most 1 KiB that ends with the hint.
func TestMessage(t *testing.T) {
	h := handler(t, inWorld(t).rules(t, guard.Settings{}, nil), guard.Config{})
	o := inWorld(t).sealed(t, draft("a", "exceptions", hour, ""), now.Add(-time.Minute))
	hostile := copied(t, o, func(o object) {
		labels := object{}
		for i := range 3 {
			labels[fmt.Sprintf("x%d\n\x1b[31m::error::%s", i, strings.Repeat("é", 400))] = "\r\n"
		}
		metadata(o)["labels"] = labels
	})
	response, _ := post(t, h, body(t, request(t, create, asJSON(t, hostile), nil)))
	got := reasonOf(t, response)
	must.That(t, got == "altered", "%q, want altered", got)
	message := response.Result.Message
	expect.That(t, !strings.ContainsFunc(message, func(r rune) bool { return r < ' ' || r == 0x7f }),
		"it holds control characters: %q", message)
	expect.That(t, strings.HasSuffix(message, "have the change reviewed and signed"),
		"it does not end with what to do: %q", message)
}

// TestObserved: every answer is reported, with the user and the verified facts.
func TestObserved(t *testing.T) {
	var seen []*guard.Decision
	w := inWorld(t)
	h := handler(t, w.rules(t, guard.Settings{}, nil), guard.Config{Observe: func(d *guard.Decision, _ time.Duration) { seen = append(seen, d) }})
	r := signed(t)
	r.UserInfo.Username = "argocd"
	judged(t, h, r)
	post(t, h, []byte("{"))
	must.That(t, len(seen) == 2, "%d decisions were told", len(seen))
	if d := seen[0]; d.User != "argocd" || d.Authority() != "release-key" || d.Object.String() != "PolicyException.kyverno.io exceptions/a" || d.Operation != "CREATE" || !d.Allowed() {
		t.Errorf("%+v", d)
	}
	until := now.Add(hour).UTC().Format(time.RFC3339)
	if got := seen[0].Summary(); !strings.HasPrefix(got, `signed by the key "release-key" at `) || !strings.HasSuffix(got, ", until "+until) {
		t.Errorf("%q", got)
	}
	d := seen[1]
	expect.That(t, !d.Allowed() && d.Reason == "malformed", "%+v", d)
}

// BenchmarkAdmit measures reviews of a valid exception and of an altered one.
func BenchmarkAdmit(b *testing.B) {
	w := inWorld(b)
	h := handler(b, w.rules(b, guard.Settings{}, nil), guard.Config{})
	honest := w.sealed(b, draft("a", "exceptions", hour, ""), now.Add(-hour/2))
	for name, o := range map[string]object{"honest": honest, "altered": copied(b, honest, func(o object) { annotate(o, "a", "b") })} {
		raw := body(b, request(b, admissionv1.Create, asJSON(b, o), nil))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				response, _ := post(b, h, raw)
				must.That(b, response != nil && response.Allowed == (name == "honest"), "%v", response)
			}
		})
	}
}
