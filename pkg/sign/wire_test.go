package sign_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// hook handles requests between the signer and a server of the sandbox.
type hook func(server string, next http.Handler, w http.ResponseWriter, r *http.Request)

// wire counts the requests to a sandbox's servers, and lets a test change the answers.
type wire struct {
	mu   sync.Mutex
	seen []string // "server METHOD /path"
	hook hook
}

func (w *wire) intercept(server string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.seen = append(w.seen, server+" "+r.Method+" "+r.URL.Path)
		h := w.hook
		w.mu.Unlock()
		if h == nil {
			next.ServeHTTP(rw, r)
			return
		}
		h(server, next, rw, r)
	})
}

// meddle sets the hook.
func (w *wire) meddle(h hook) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hook = h
}

// forget makes the count begin anew.
func (w *wire) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = nil
}

// count returns the number of requests with a prefix.
func (w *wire) count(prefix string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, s := range w.seen {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

const (
	certificateRequest = "fulcio POST /api/v2/signingCert"
	uploadRequest      = "rekor POST /api/v1/log/entries"
	searchRequest      = "rekor POST /api/v1/index"
)

func isUpload(server string, r *http.Request) bool {
	return server == sandbox.ServerRekor && r.Method == http.MethodPost && r.URL.Path == "/api/v1/log/entries"
}

func isPost(server string) func(string, *http.Request) bool {
	return func(asked string, r *http.Request) bool { return asked == server && r.Method == http.MethodPost }
}

// fixture is a Sigstore with its wire and its root: a sandbox, or the one of [everywhere].
type fixture struct {
	*sandbox.Sandbox
	wire *wire
	root *trust.Root
	rest *rest
}

// rest records the waits between retries, and skips them.
type rest struct {
	mu    sync.Mutex
	waits []time.Duration
}

func (r *rest) sleep(ctx context.Context, d time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits = append(r.waits, d)
	return ctx.Err()
}

func (r *rest) taken() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.waits)
}

func start(tb testing.TB) *fixture {
	tb.Helper()
	f := &fixture{wire: &wire{}, rest: &rest{}}
	f.Sandbox = must.Get(sandbox.Start(
		tb.Context(), sandbox.Options{Dir: tb.TempDir(), Intercept: f.wire.intercept}))(tb)
	tb.Cleanup(func() {
		f.wire.meddle(nil)
		err := f.Close()
		expect.That(tb, err == nil, "close sandbox: %v", err)
	})
	f.root = must.Get(trust.LoadRoot(f.TrustedRootPath))(tb)
	return f
}

func (f *fixture) token(tb testing.TB, id sandbox.Identity) string {
	tb.Helper()
	return must.Get(sandbox.RequestToken(tb.Context(), f.Dir, id, "sigstore"))(tb)
}

func (f *fixture) config() sign.Config {
	return sign.Config{RekorURL: f.RekorURL, Root: f.root, Timing: sign.Timing{Sleep: f.rest.sleep}}
}

func (f *fixture) keyless(tb testing.TB, config sign.Config) *sign.Signer {
	tb.Helper()
	return must.Get(sign.Keyless(tb.Context(), config, f.FulcioURL, f.token(tb, sandbox.Identity{}), time.Now()))(tb)
}

// policy trusts the sandbox's own workflow.
func (f *fixture) policy(tb testing.TB) *trust.Policy {
	tb.Helper()
	return must.Get(trust.New(trust.Config{Authorities: []trust.AuthorityConfig{{
		Name: "workflow", Issuer: f.IssuerURL, Subject: sandbox.Identity{}.Subject(),
		Claims: map[string]trust.Values{"buildTrigger": {"push"}},
	}}}, f.root))(tb)
}

// ofKey trusts a public key in PEM.
func (f *fixture) ofKey(tb testing.TB, key []byte) *trust.Policy {
	tb.Helper()
	authorities := []trust.AuthorityConfig{{Name: "team", Key: string(key)}}
	return must.Get(trust.New(trust.Config{Authorities: authorities}, f.root))(tb)
}

// seals signs documents now, and verifies them under the policy.
func (f *fixture) seals(tb testing.TB, s *sign.Signer, docs []*exception.Document) []*verify.Verified {
	tb.Helper()
	return mustVerify(tb, f.policy(tb), must.Get(s.Seal(tb.Context(), docs, time.Now()))(tb))
}

func mustVerify(tb testing.TB, policy *trust.Policy, docs []*exception.Document) []*verify.Verified {
	tb.Helper()
	v := must.Get(verify.New(policy))(tb)
	opened := make([]*verify.Verified, len(docs))
	for i, doc := range docs {
		// From the text, like a cluster, not from the signer's memory.
		doc := must.Get(exception.Parse(doc.Source(), doc.File()))(tb)
		opened[i] = must.Get(v.Verify(doc, time.Now()))(tb)
	}
	return opened
}

// undisturbed is one sandbox for the tests that do not change its answers.
var undisturbed *fixture

func shared(testing.TB) *fixture { return undisturbed }

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "polex-sign-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	undisturbed = &fixture{wire: &wire{}, rest: &rest{}}
	undisturbed.Sandbox, err = sandbox.Start(context.Background(), sandbox.Options{Dir: dir, Intercept: undisturbed.wire.intercept})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer undisturbed.Close()
	if undisturbed.root, err = trust.LoadRoot(undisturbed.TrustedRootPath); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

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

// heard returns the real answer.
func heard(next http.Handler, r *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	return answer
}

// repeat sends a recorded answer with another body.
func repeat(w http.ResponseWriter, answer *httptest.ResponseRecorder, body []byte) {
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(body)
}

// cut sends the first half of the real answer.
func cut(*testing.T, *fixture) hook {
	return func(_ string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		true := heard(next, r)
		true.Header().Set("Content-Length", "100000") // more than it sends
		repeat(w, true, true.Body.Bytes()[:true.Body.Len()/2])
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
			true := heard(next, r)
			true.Header().Del("Content-Length")
			repeat(w, true, edit(true.Body.Bytes()))
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
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = heard(next, r)
	c.replay(server, next, w, r)
}

func (c *recorder) replay(_ string, _ http.Handler, w http.ResponseWriter, _ *http.Request) {
	repeat(w, c.answer, c.answer.Body.Bytes())
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
