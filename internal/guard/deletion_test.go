package guard_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

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
