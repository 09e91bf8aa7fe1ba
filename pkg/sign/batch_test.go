package sign_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// One token and one certificate serve a hundred documents. Each is uploaded once, and the order stays.
func TestSealBatch(t *testing.T) {
	f := start(t)
	docs := batch(t, 100)
	var mu sync.Mutex
	var progress []int
	config := f.config()
	config.Progress = func(done, total int) {
		mu.Lock()
		defer mu.Unlock()
		progress = append(progress, done)
		expect.Is(t, "progress of", len(docs), total)
	}
	sealed := must.Get(f.keyless(t, config).Seal(t.Context(), docs, time.Now()))(t)
	must.That(t, len(sealed) == len(docs), "%d sealed of %d", len(sealed), len(docs))
	certificates := map[string]bool{}
	for i, doc := range sealed {
		expect.Is(t, fmt.Sprintf("document %d", i), docs[i].Identity(), doc.Identity())
		s := must.Get(seal.Read(doc))(t)
		certificates[string(s.Signatures[0].Certificate)] = true
	}
	mustVerify(t, f.policy(t), sealed)
	slices.Sort(progress)
	type counts struct{ Certificates, CertificateRequests, Uploads, OtherRekor, Tokens, Progress, LastProgress int }
	got := counts{len(certificates), f.wire.count(certificateRequest), f.wire.count(uploadRequest),
		f.wire.count("rekor") - f.wire.count(uploadRequest), f.wire.count("issuer GET /token"), len(progress), progress[len(progress)-1]}
	want := counts{Certificates: 1, CertificateRequests: 1, Uploads: 100, Progress: 100, LastProgress: 100}
	expect.Equal(t, "requests", want, got)
}

// Making the signer requests an ambient token once.
func TestAmbientToken(t *testing.T) {
	f := start(t)
	t.Setenv("ACTIONS_ID_TOKEN_REQUEST_URL", f.TokenRequestURL)
	t.Setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", f.TokenRequestToken)
	token := must.Get(sign.AmbientToken(t.Context(), sign.DefaultClientID, sign.Timing{}))(t)
	s := must.Get(sign.Keyless(t.Context(), f.config(), f.FulcioURL, token, time.Now()))(t)
	f.seals(t, s, batch(t, 3))
	expect.Is(t, "tokens", 1, f.wire.count("issuer GET /token"))
}

// gate holds uploads until the maximum number waits, so that the test reaches the limit. It records the highest number.
type gate struct {
	mu            sync.Mutex
	bound         int
	running, most int
	waiting       int // for open
	open          chan struct{}
}

func (g *gate) hook(server string, next http.Handler, w http.ResponseWriter, r *http.Request) {
	if !isUpload(server, r) {
		next.ServeHTTP(w, r)
		return
	}
	g.mu.Lock()
	g.running++
	g.most = max(g.most, g.running)
	if g.open == nil {
		g.open = make(chan struct{})
	}
	open := g.open
	if g.waiting++; g.waiting == g.bound {
		close(open)
		g.open, g.waiting = nil, 0
	}
	g.mu.Unlock()
	select {
	case <-open:
	case <-r.Context().Done():
	}
	g.mu.Lock()
	g.running--
	g.mu.Unlock()
	next.ServeHTTP(w, r)
}

func TestSealParallel(t *testing.T) {
	for _, tc := range []struct {
		name               string
		concurrency, bound int
	}{
		{"one by one", 1, 1}, {"two", 2, 2}, {"default", 0, sign.DefaultConcurrency}, {"sixteen", 16, 16},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := start(t)
			config := f.config()
			config.Concurrency = tc.concurrency
			s := f.keyless(t, config)
			g := &gate{bound: tc.bound}
			f.wire.meddle(g.hook)
			f.seals(t, s, batch(t, 4*tc.bound))
			expect.Is(t, "uploads at once", tc.bound, g.most)
		})
	}
}

// A failure in the middle stops the batch: no further upload starts, and no signed document is returned.
func TestSealStopsAtFailure(t *testing.T) {
	f := start(t)
	config := f.config()
	config.Concurrency = 1
	s := f.keyless(t, config)
	f.wire.meddle(func(server string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if isUpload(server, r) && f.wire.count(uploadRequest) == 4 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
	refused(s.Seal(t.Context(), batch(t, 10), time.Now()))(t, "")
	expect.Is(t, "uploads", 4, f.wire.count(uploadRequest))
}

func TestSealCancelled(t *testing.T) {
	f := start(t)
	s := f.keyless(t, f.config())
	ctx, cancel := context.WithCancel(t.Context())
	f.wire.meddle(func(server string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if !isUpload(server, r) || f.wire.count(uploadRequest) <= 3 {
			next.ServeHTTP(w, r)
			return
		}
		cancel()
		<-r.Context().Done() // the log never answers: Seal closes the connection
	})
	out, err := s.Seal(ctx, batch(t, 40), time.Now())
	expect.That(t, out == nil && errors.Is(err, context.Canceled),
		"Seal: %d documents, %v, want context.Canceled", len(out), err)
	if n := f.wire.count(uploadRequest); n > 3+2*sign.DefaultConcurrency {
		t.Errorf("%d uploads began, though the batch was cancelled at the fourth", n)
	}
}

// There is no request to the log if a document of the batch cannot be signed.
func TestSealRefusesBeforeUpload(t *testing.T) {
	f := start(t)
	s := f.keyless(t, f.config())
	docs := append(batch(t, 3), parse(t, edited(kyvernoText, "    polex.dev/expires-in: 7d\n", "")))
	out, err := s.Seal(t.Context(), docs, time.Now())
	var refused exception.Refusals
	if out != nil || !errors.As(err, &refused) || len(refused) != 1 || refused[0].Reason != sign.ReasonNoExpiry {
		t.Errorf("Seal: %d documents, %v, want %s", len(out), err, sign.ReasonNoExpiry)
	}
	expect.Is(t, "requests to the log", 0, f.wire.count("rekor"))
}

// New signatures must verify with the given policy.
func TestSealUnderPolicy(t *testing.T) {
	f := shared(t)
	authority := trust.AuthorityConfig{Name: "workflow", Issuer: f.IssuerURL, Subject: sandbox.Identity{}.Subject()}
	with := func(edit func(*trust.AuthorityConfig)) trust.Config {
		a := authority
		edit(&a)
		return trust.Config{Authorities: []trust.AuthorityConfig{a}}
	}
	for _, tc := range []struct {
		name   string
		config trust.Config
		want   string
	}{
		{"trusted", with(func(*trust.AuthorityConfig) {}), ""},
		{"another subject", with(func(a *trust.AuthorityConfig) { a.Subject += "-evil" }), verify.ReasonWrongIdentity},
		{"another issuer", with(func(a *trust.AuthorityConfig) { a.Issuer = f.OtherIssuerURL }), verify.ReasonWrongIdentity},
		{"another claim", with(func(a *trust.AuthorityConfig) {
			a.Claims = map[string]trust.Values{"buildTrigger": {"workflow_dispatch"}}
		}), verify.ReasonWrongIdentity},
		{"shorter lifetime", trust.Config{Authorities: []trust.AuthorityConfig{authority}, MaxLifetime: "6d"}, verify.ReasonLifetimeTooLong},
		{"another kind", trust.Config{Authorities: []trust.AuthorityConfig{authority}, Kinds: []string{"PolicyException.policies.kyverno.io"}}, verify.ReasonKindNotAllowed},
		{"beyond the signer's limits", with(func(a *trust.AuthorityConfig) { a.Limits = &trust.Selectors{Namespaces: []string{"elsewhere"}} }), verify.ReasonBeyondLimits},
		{"withdrawn", trust.Config{Authorities: []trust.AuthorityConfig{authority},
			Revoked: []trust.RevocationConfig{{Authority: "workflow", SignedBefore: "2999-01-01T00:00:00Z"}}}, verify.ReasonWithdrawn},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := f.config()
			config.Policy = must.Get(trust.New(tc.config, f.root))(t)
			signer, before := f.keyless(t, config), f.wire.count(uploadRequest)
			out, err := signer.Seal(t.Context(), batch(t, 2), time.Now())
			expect.Is(t, "uploads", len(out), f.wire.count(uploadRequest)-before)
			if tc.want == "" {
				expect.That(t, err == nil && len(out) == 2, "Seal: %d documents, %v", len(out), err)
				return
			}
			refused(out, err)(t, tc.want)
		})
	}
}

// Another sandbox's root does not verify signatures of this one.
func TestSealUnderAnotherRoot(t *testing.T) {
	f := start(t)
	config := f.config()
	config.Root = shared(t).root
	out, err := f.keyless(t, config).Seal(t.Context(), batch(t, 2), time.Now())
	rejected := new(verify.Rejected)
	expect.That(t, out == nil && errors.As(err, &rejected), "Seal: %d documents, %v, want a refusal", len(out), err)
}

func TestSealNothing(t *testing.T) {
	f := shared(t)
	out, err := f.keyless(t, f.config()).Seal(t.Context(), []*exception.Document{}, time.Now())
	expect.That(t, err == nil && len(out) == 0, "Seal: %d documents, %v", len(out), err)
}

// BenchmarkSign signs a hundred manifests: like polex with one certificate and parallel uploads, and like a shell loop with a
// certificate for each, one after the other.
func BenchmarkSign(b *testing.B) {
	f, docs := shared(b), batch(b, 100)
	for name, size := range map[string]int{"together": len(docs), "one by one": 1} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for some := range slices.Chunk(docs, size) {
					must.Get(f.keyless(b, f.config()).Seal(b.Context(), some, time.Now()))(b)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(docs)), "ns/manifest")
		})
	}
}
