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

// fault is something that a server gets wrong.
type fault func(*testing.T, *fixture) hook

// answer is a server that says the same to everything. Headers are names and
// values in turn.
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

// tooBig is more than anybody needs to say, under a status of success.
func tooBig(t *testing.T, f *fixture) hook {
	return answer(http.StatusCreated, strings.Repeat(" ", 1<<20)+"{}")(t, f)
}

// cut sends the first half of the true answer.
func cut(*testing.T, *fixture) hook {
	return func(_ string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		true := httptest.NewRecorder()
		next.ServeHTTP(true, r)
		for name, values := range true.Header() {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Length", "100000") // more than will come
		w.WriteHeader(true.Code)
		_, _ = w.Write(true.Body.Bytes()[:true.Body.Len()/2])
	}
}

// hangUp closes the connection without a word, and before anything was done.
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

// lost does what was asked, and closes the connection without a word.
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
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client hangs up
		<-r.Context().Done()
	}
}

// rewrite changes the true answer.
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

// only is a fault in the requests that meet a condition.
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

// firstOf is the first request only of those that meet a condition.
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

// flip changes one bit of what is base64.
func flip(text string) string {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) == 0 {
		return strings.ToUpper(text)
	}
	raw[len(raw)/2] ^= 1
	return base64.StdEncoding.EncodeToString(raw)
}
