package guard_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
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

// TestMessageIsBounded: a long text is cut before it is escaped, and costs no more than a short one.
func TestMessageIsBounded(t *testing.T) {
	d := &guard.Decision{Operation: "DELETE", User: strings.Repeat("\x7f", 4<<20), Reason: guard.ReasonDeleted}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text := d.Summary()
	guard.LogDecision(slog.New(slog.DiscardHandler), d, time.Second)
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	expect.That(t, len(text) <= 1<<10 && allocated < 6<<20, "%d bytes from %d allocated ones", len(text), allocated)
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

// deletes posts a review to the handler for deletions.
func deletes(t *testing.T, h *guard.Handler, raw io.Reader) (*admissionv1.AdmissionResponse, int) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeDeletion(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/deleted?timeout=2s", raw))
	if w.Code != http.StatusOK {
		return nil, w.Code
	}
	var review admissionv1.AdmissionReview
	err := json.Unmarshal(w.Body.Bytes(), &review)
	must.That(t, err == nil && review.Response != nil, "%v: %s", err, w.Body)
	return review.Response, w.Code
}

func deletionOf(t *testing.T) []byte {
	t.Helper()
	r := request(t, admissionv1.Delete, nil, asJSON(t, inWorld(t).sealed(t, draft("a", "exceptions", hour, ""), now.Add(-time.Minute))))
	r.UserInfo.Username = "argocd"
	return body(t, r)
}

// TestDeletionsAreAllowed: every review of a DELETE is allowed, also if it cannot be read. The
// answer contains its known facts. Another operation is rejected.
func TestDeletionsAreAllowed(t *testing.T) {
	whole := deletionOf(t)
	for name, tc := range map[string]struct {
		rules *guard.Rules
		body  io.Reader
		user  string // in the report
	}{
		"as it comes":         {rules: inWorld(t).rules(t, guard.Settings{}, nil), body: bytes.NewReader(whole), user: "argocd"},
		"no configuration":    {body: bytes.NewReader(whole), user: "argocd"},
		"it breaks off":       {body: io.MultiReader(bytes.NewReader(whole[:len(whole)-20]), errorReader{})},
		"it is no review":     {body: strings.NewReader(string(whole[:len(whole)-20]))},
		"it is much too long": {body: io.MultiReader(bytes.NewReader(whole[:len(whole)-20]), bytes.NewReader(make([]byte, guard.MaxReview)))},
	} {
		t.Run(name, func(t *testing.T) {
			var seen []*guard.Decision
			h := handler(t, tc.rules, guard.Config{Observe: func(d *guard.Decision, _ time.Duration) { seen = append(seen, d) }})
			response, code := deletes(t, h, tc.body)
			must.That(t, response != nil && response.Allowed && response.UID == "5f0b", "%d %+v", code, response)
			if len(seen) != 1 || seen[0].Reason != guard.ReasonDeleted || seen[0].Operation != "DELETE" || seen[0].User != tc.user {
				t.Errorf("%+v", seen)
			}
		})
	}
	t.Run("it is no DELETE", func(t *testing.T) {
		h := handler(t, inWorld(t).rules(t, guard.Settings{}, nil), guard.Config{})
		response, _ := deletes(t, h, bytes.NewReader(body(t, signed(t))))
		expect.That(t, response != nil && !response.Allowed && reasonOf(t, response) == guard.ReasonOperationNotAllowed,
			"%+v", response)
	})
	t.Run("it has no uid", func(t *testing.T) {
		response, code := deletes(t, handler(t, nil, guard.Config{}), strings.NewReader("{"))
		expect.That(t, response == nil && code >= http.StatusBadRequest, "%d %+v", code, response)
	})
}

// TestDeletionsWaitForNobody: a busy guard allows a DELETE at once.
func TestDeletionsWaitForNobody(t *testing.T) {
	s := stall(t, guard.Config{Deadline: time.Hour, Concurrent: 1, Waiting: 1})
	answers := make(chan string)
	for range 2 {
		go func() {
			response, _ := post(t, s, body(t, signed(t)))
			answers <- reasonOf(t, response)
		}()
	}
	<-s.arrived // one is judged, and one waits or soon will
	response, code := deletes(t, s.Handler, bytes.NewReader(deletionOf(t)))
	expect.That(t, response != nil && response.Allowed, "%d %+v", code, response)
	close(s.release)
	for range 2 {
		expect.Is(t, "result", "verified", <-answers)
	}
}

// TestSlowBodiesGiveWay: at the limit of bodies, a new one stops the oldest, with HTTP/1.1 and HTTP/2.
func TestSlowBodiesGiveWay(t *testing.T) {
	for name, slowly := range map[string]func(*testing.T, *httptest.Server, chan<- error){"HTTP/1.1": onConnection, "HTTP/2": onStream} {
		t.Run(name, func(t *testing.T) {
			const reading, slow = 4, 10
			h := handler(t, inWorld(t).rules(t, guard.Settings{}, nil), guard.Config{Deadline: time.Hour, Reading: reading})
			server := httptest.NewUnstartedServer(h)
			server.EnableHTTP2 = name == "HTTP/2"
			server.StartTLS()
			defer server.Close()
			defer server.CloseClientConnections()
			ended := make(chan error, slow)
			for range slow {
				slowly(t, server, ended)
			}
			for range slow - reading { // the others were stopped, so all have arrived
				err := <-ended
				expect.NoError(t, err)
			}
			answer := must.Get(server.Client().Post(server.URL+"/admit", "application/json", bytes.NewReader(body(t,
				signed(t)))))(t)
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if err != nil || !strings.Contains(string(text), `"reason":"verified"`) {
				t.Errorf("%v: %d %s", err, answer.StatusCode, text)
			}
		})
	}
}

// TestSlowBodyOfAnother: many bodies of one client do not stop the slow body of another.
func TestSlowBodyOfAnother(t *testing.T) {
	h := handler(t, inWorld(t).rules(t, guard.Settings{}, nil), guard.Config{Deadline: time.Hour, Reading: 3})
	answers, dropped := make(chan string, 1), make(chan string, 20)
	sends := func(client string, ended chan<- string) *io.PipeWriter {
		body, sender := io.Pipe()
		t.Cleanup(func() { _ = sender.Close() })
		r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/admit", body)
		r.RemoteAddr = client
		w := &stoppable{httptest.NewRecorder(), body}
		go func() {
			h.ServeHTTP(w, r)
			ended <- w.Body.String()
		}()
		return sender
	}
	raw := body(t, signed(t))
	slow := sends("10.0.0.1:443", answers)
	_, _ = slow.Write(raw[:10])
	for range 20 {
		_, _ = sends("10.1.2.3:5000", dropped).Write([]byte("{"))
	}
	for range 18 {
		got := <-dropped
		expect.That(t, strings.Contains(got, "dropped for newer requests"), "%v", got)
	}
	_, _ = slow.Write(raw[10:])
	_ = slow.Close()
	got := <-answers
	expect.That(t, strings.Contains(got, `"reason":"verified"`), "%v", got)
}

// TestLargeBodiesGiveWay: a new body also stops a large body that waits for a place, so the limit
// includes waiting bodies.
func TestLargeBodiesGiveWay(t *testing.T) {
	h := handler(t, inWorld(t).rules(t, guard.Settings{}, nil), guard.Config{Deadline: time.Hour, Reading: 2, Concurrent: 1})
	ended := make(chan string, 10)
	for range 4 { // one has the place, two wait, and the next one stops the older of these
		body, sender := io.Pipe()
		w := &stoppable{httptest.NewRecorder(), body}
		t.Cleanup(func() { _ = sender.Close() })
		go func() {
			h.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/admit", body))
			ended <- w.Body.String()
		}()
		must.Get(sender.Write(bytes.Repeat([]byte(" "), 64<<10+1)))(t)
	}
	select {
	case got := <-ended:
		expect.That(t, strings.Contains(got, "dropped for newer requests"), "%v", got)
	case <-time.After(waitLimit):
		t.Error("none gave way")
	}
}

// stoppable is a writer with a body that another goroutine can end. A deadline in the future does not end it.
type stoppable struct {
	*httptest.ResponseRecorder
	body *io.PipeReader
}

func (s *stoppable) SetReadDeadline(at time.Time) error {
	if at.Before(now.Add(-24 * time.Hour)) {
		return s.body.CloseWithError(os.ErrDeadlineExceeded)
	}
	return nil
}

// onConnection sends an endless body on its own connection and reports the outcome.
func onConnection(t *testing.T, server *httptest.Server, ended chan<- error) {
	t.Helper()
	conn := must.Get(tls.Dial("tcp", server.Listener.Addr().String(),
		server.Client().Transport.(*http.Transport).TLSClientConfig))(t)
	t.Cleanup(func() { _ = conn.Close() })
	must.Get(io.WriteString(conn, "POST /admit HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"))(t)
	go func() {
		text, err := io.ReadAll(conn)
		if err == nil && strings.Contains(string(text), " 200 ") {
			err = fmt.Errorf("it is answered: %s", text)
		}
		ended <- err
	}()
}

// onStream does the same on a stream of a shared connection.
func onStream(t *testing.T, server *httptest.Server, ended chan<- error) {
	t.Helper()
	body, sender := io.Pipe()
	t.Cleanup(func() { _ = sender.Close() })
	go func() { _, _ = sender.Write([]byte("{")) }()
	go func() {
		answer, err := server.Client().Post(server.URL+"/admit", "application/json", body)
		if err == nil {
			if answer.StatusCode == http.StatusOK {
				err = errors.New("it is answered")
			}
			_ = answer.Body.Close()
		}
		ended <- err
	}()
}
