package sign_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
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
