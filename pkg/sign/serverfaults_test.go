package sign_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// fault is a fault of a server.
type fault func(*testing.T, *fixture) hook

// answer is a server with the same answer to every request. Headers are names and values in turns.
func answer(status int, body string, headers ...string) fault {
	return func(*testing.T, *fixture) hook {
		return func(_ string, _ http.Handler, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for i := 0; i+1 < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
}

// tooBig is an answer beyond every limit, with a status of success.
func tooBig(t *testing.T, f *fixture) hook {
	return answer(http.StatusCreated, strings.Repeat(" ", 1<<20)+"{}")(t, f)
}

// cut sends the first half of the real answer.
func cut(*testing.T, *fixture) hook {
	return func(_ string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		true := httptest.NewRecorder()
		next.ServeHTTP(true, r)
		for name, values := range true.Header() {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Length", "100000") // more than it sends
		w.WriteHeader(true.Code)
		_, _ = w.Write(true.Body.Bytes()[:true.Body.Len()/2])
	}
}

// hangUp closes the connection without an answer, before doing anything.
func hangUp(t *testing.T, _ *fixture) hook {
	return func(_ string, _ http.Handler, w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("hijack: %v", err)
			return
		}
		_ = connection.Close()
	}
}

// lost processes the request, and closes the connection without an answer.
func lost(t *testing.T, f *fixture) hook {
	quit := hangUp(t, f)
	return func(server string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		quit(server, next, w, r)
	}
}

// mute never answers.
func mute(*testing.T, *fixture) hook {
	return func(_ string, _ http.Handler, _ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // then the server notices that the client closes the connection
		<-r.Context().Done()
	}
}

// rewrite changes the real answer.
func rewrite(edit func(body []byte) []byte) fault {
	return func(*testing.T, *fixture) hook {
		return func(_ string, next http.Handler, w http.ResponseWriter, r *http.Request) {
			true := httptest.NewRecorder()
			next.ServeHTTP(true, r)
			for name, values := range true.Header() {
				w.Header()[name] = values
			}
			w.Header().Del("Content-Length")
			w.WriteHeader(true.Code)
			_, _ = w.Write(edit(true.Body.Bytes()))
		}
	}
}

// only is a fault for the requests that meet a condition.
func only(concerned func(server string, r *http.Request) bool, h hook) hook {
	return func(server string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if concerned(server, r) {
			h(server, next, w, r)
			return
		}
		next.ServeHTTP(w, r)
	}
}

func at(server string) func(string, *http.Request) bool {
	return func(asked string, _ *http.Request) bool { return asked == server }
}

// firstOf matches only the first request that meets a condition.
func firstOf(concerned func(server string, r *http.Request) bool) func(string, *http.Request) bool {
	var met atomic.Bool
	return func(server string, r *http.Request) bool {
		return concerned(server, r) && met.CompareAndSwap(false, true)
	}
}

// recorder keeps the last answer to a request that meets a condition.
type recorder struct {
	concerned func(server string, r *http.Request) bool

	mu     sync.Mutex
	answer *httptest.ResponseRecorder
}

func (c *recorder) hook(server string, next http.Handler, w http.ResponseWriter, r *http.Request) {
	if !c.concerned(server, r) {
		next.ServeHTTP(w, r)
		return
	}
	heard := httptest.NewRecorder()
	next.ServeHTTP(heard, r)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = heard
	c.replay(server, next, w, r)
}

func (c *recorder) replay(_ string, _ http.Handler, w http.ResponseWriter, _ *http.Request) {
	for name, values := range c.answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(c.answer.Code)
	_, _ = w.Write(c.answer.Body.Bytes())
}

// flip changes one bit of base64 data.
func flip(text string) string {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) == 0 {
		return strings.ToUpper(text)
	}
	raw[len(raw)/2] ^= 1
	return base64.StdEncoding.EncodeToString(raw)
}
