package commit_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/retry"
)

// long is for cases that differ little from each other: without it, a test runs some of them. make e2e sets it.
var long = flag.Bool("long", false, "kill and cut at every place, which takes minutes")

// cutting serves the repositories in a folder by HTTP, and ends the connection within its answer number
// cut, after a part of the answer in percent.
type cutting struct {
	git          cgi.Handler
	cut, percent int
	closed       bool // only the end of the connection shows the end of an answer
	answers      atomic.Int32
}

func (c *cutting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	c.git.ServeHTTP(answer, r)
	body := answer.Body.Bytes()
	if int(c.answers.Add(1)) == c.cut {
		connection, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer connection.Close() //nolint:errcheck // it is cut
		length := fmt.Sprintf("Content-Length: %d\r\n", len(body))
		if c.closed {
			length = ""
		}
		_, _ = fmt.Fprintf(connection, "HTTP/1.1 %d OK\r\nContent-Type: %s\r\n%s\r\n%s",
			answer.Code, answer.Header().Get("Content-Type"), length, body[:len(body)*c.percent/100])
		return
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(body)
}

// TestAnswerCut: an answer that ends too early is asked for again: each one, after each part.
func TestAnswerCut(t *testing.T) {
	backend := strings.TrimSpace(newRepository(t, nil).line("--exec-path")) + "/git-http-backend"
	for _, tc := range []struct {
		percent int
		closed  bool
	}{{0, false}, {50, false}, {99, false}, {1, true}, {50, true}, {99, true}} {
		if !*long && tc.percent != 50 {
			continue
		}
		met := 0
		for cut := 1; ; cut++ {
			r := newRepository(t, map[string]string{"a": strings.Repeat("abc\n", 100)})
			remote := r.bare()
			remote.git("config", "http.receivepack", "true")
			other := remote.clone("other")
			other.write("b", strings.Repeat("b\n", 5000))
			other.commit("Beside")
			other.git("push", "--quiet", "origin", "main")
			server := &cutting{cut: cut, percent: tc.percent, closed: tc.closed, git: cgi.Handler{Path: backend,
				Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(remote.dir), "GIT_HTTP_EXPORT_ALL=1"}}}
			web := httptest.NewServer(server)
			r.git("remote", "set-url", "origin", web.URL+"/"+filepath.Base(remote.dir))
			clone, err := commit.Open(commit.Options{Dir: r.dir, Timing: retry.Timing{
				Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}})
			r.must(err)
			to := commit.Remote{Name: "origin", Branch: "main"}
			_, _, err = clone.Ask(t.Context(), to)
			if err == nil {
				_, err = clone.Fetch(t.Context(), to)
			}
			_ = clone.Close()
			web.Close()
			if err != nil {
				t.Errorf("answer %d ends after %d %%, closed %t: %v", cut, tc.percent, tc.closed, err)
			}
			if int(server.answers.Load()) < cut {
				break // there is no such answer
			}
			met++
		}
		if met < 4 {
			t.Errorf("%d answers were cut", met)
		}
	}
}
