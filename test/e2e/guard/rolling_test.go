//go:build e2e

package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestRollingRestart: while two guards are replaced one after the other, every request gets an
// answer, and the right one.
func TestRollingRestart(t *testing.T) {
	guards := []*instance{}
	for range 2 {
		guards = append(guards, settings{flags: []string{"--shutdown-delay", "2s"}}.run(t))
	}
	service := balance(t, guards)
	service.register(t)
	s := pour(t, namespace(t))
	s.flows(t, guards[0], 20)
	for _, g := range guards {
		// Stop it, and wait for its end.
		g.group.Stop()
		s.flows(t, g, 20)
		g.again(t)
		s.flows(t, g, 20)
	}
	s.ends(t)
}

// balance puts guards behind one address, like a Service. A new connection goes to a ready guard.
// If none is ready in time, it goes to any running one. An open connection stays.
func balance(t *testing.T, guards []*instance) *instance {
	t.Helper()
	var turn atomic.Uint64
	address := relay(t, func(ctx context.Context) (net.Conn, error) {
		errs := []error{errors.New("no guard is there")}
		for _, ask := range []func(*instance) error{func(g *instance) error { return g.ready(ctx) }, func(*instance) error { return nil }} {
			first := turn.Add(1)
			for n := range uint64(len(guards)) {
				g := guards[(first+n)%uint64(len(guards))]
				err := ask(g)
				if err == nil {
					conn, dialed := (&net.Dialer{}).DialContext(ctx, "tcp", g.webhook)
					if dialed == nil {
						return conn, nil
					}
					err = dialed
				}
				errs = append(errs, err)
			}
		}
		return nil, errors.Join(errs...)
	})
	var bundle bytes.Buffer
	for _, g := range guards {
		bundle.Write(g.bundle)
	}
	return &instance{group: guards[0].group, webhook: address, bundle: bundle.Bytes()}
}

// relay listens on loopback, and connects each connection with one from dial.
func relay(t *testing.T, dial func(context.Context) (net.Conn, error)) (address string) {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go func() {
				defer from.Close()
				to, err := dial(ctx)
				if err != nil {
					return
				}
				defer to.Close()
				context.AfterFunc(ctx, func() { from.Close(); to.Close() })
				go func() {
					_, _ = io.Copy(to, from)
					_ = to.Close()
				}()
				_, _ = io.Copy(from, to)
			}()
		}
	}()
	return listener.Addr().String()
}

// stream sends a valid and a forged exception for admission, repeatedly and in parallel, in dry runs.
type stream struct {
	target         cluster.Target
	honest, forged string

	mu         sync.Mutex
	answered   int     // correctly
	wrong      []error // wrong verdicts
	unanswered []error // no verdict

	end    context.CancelFunc
	ending sync.WaitGroup
}

// pour starts a stream. It ends at the latest with the test.
func pour(t *testing.T, ns string) *stream {
	t.Helper()
	sealed := seal(t, draft{name: "honest", namespace: ns}.legacy("v2"), draft{name: "forged", namespace: ns}.legacy("v2"))
	s := &stream{target: cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}, honest: sealed[0], forged: widened(t, sealed[1])}
	ctx, cancel := context.WithCancel(context.Background())
	s.end = cancel
	t.Cleanup(func() { s.end(); s.ending.Wait() })
	const atOnce = 4
	for range atOnce {
		s.ending.Go(func() {
			for ctx.Err() == nil {
				s.ask(ctx)
			}
		})
	}
	return s
}

func (s *stream) ask(ctx context.Context) {
	honest, err := live.DryRun(ctx, s.target, []byte(s.honest))
	s.judge(ctx, "honest", err, err == nil && honest.OK(), err == nil && isDenial(honest), honest)
	forged, err := live.DryRun(ctx, s.target, []byte(s.forged))
	s.judge(ctx, "forged", err, err == nil && refused(forged, "altered") == nil, err == nil && (forged.OK() || isDenial(forged)), forged)
}

// judge counts an answer: right, wrong, or without a decision.
func (s *stream) judge(ctx context.Context, what string, err error, right, decided bool, answer *cluster.Answer) {
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		err = fmt.Errorf("%s: %d %s", what, answer.Code, answer.Message())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case right:
		s.answered++
	case decided:
		s.wrong = append(s.wrong, err)
	default:
		s.unanswered = append(s.unanswered, err)
	}
}

func isDenial(answer *cluster.Answer) bool { return denial.MatchString(answer.Message()) }

// flows waits for a number of further right answers.
func (s *stream) flows(t *testing.T, i *instance, more int) {
	t.Helper()
	s.mu.Lock()
	from := s.answered
	s.mu.Unlock()
	i.until(t, "requests to be answered", func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		return expect.Unless(s.answered >= from+more,
			"%d were; %d wrongly, %d not at all", s.answered-from, len(s.wrong), len(s.unanswered))
	})
}

// ends stops the stream. It fails if a verdict was wrong or missing.
func (s *stream) ends(t *testing.T) {
	t.Helper()
	s.end()
	s.ending.Wait()
	t.Logf("%d requests were answered", s.answered)
	for what, errs := range map[string][]error{"wrong": s.wrong, "no answer": s.unanswered} {
		if len(errs) > 0 {
			t.Errorf("%d times %s, the first: %v", len(errs), what, errs[0])
		}
	}
}

// TestReload: a new configuration takes effect without a restart. An invalid one changes nothing,
// and the guard reports it.
func TestReload(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	ns := namespace(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}
	sealed := seal(t, draft{name: "a", namespace: ns}.legacy("v2"))[0]
	dryRun := func(ctx context.Context) (*cluster.Answer, error) { return live.DryRun(ctx, target, []byte(sealed)) }
	if answer, err := dryRun(t.Context()); err != nil || !answer.OK() {
		t.Fatal(err, answer)
	}

	i.configure(t, "  namespaces: [elsewhere]\n")
	i.until(t, "the new configuration to count", func(ctx context.Context) error {
		return refuses("namespace-not-allowed")(dryRun(ctx))
	})
	good := must.Get(os.ReadFile(i.config))(t)
	for name, nonsense := range map[string]string{
		"nothing":                  "",
		"no YAML":                  "nonsense: [",
		"nobody":                   "apiVersion: polex.dev/v1alpha1\nkind: Config\ntrust: {maxLifetime: 90d}\n",
		"a field too many":         string(good) + "  nonsense: true\n",
		"a root that is not there": strings.Replace(string(good), box.TrustedRootPath, box.TrustedRootPath+".none", 1),
	} {
		must.Do(t, os.WriteFile(i.config, []byte(nonsense), 0o600))
		i.until(t, name+" to be told", i.measures(`polex_guard_config_last_reload_successful{file="config"} 0`))
		create(t, target, sealed).refusedFor(t, "namespace-not-allowed")
		i.configure(t, "  namespaces: [elsewhere]\n")
		i.until(t, "the mended one to count", i.measures(`polex_guard_config_last_reload_successful{file="config"} 1`))
	}
	i.until(t, "an Event", contains(eventsOf("default"), `"reason":"ConfigurationRefused"`))

	i.configure(t, "  maxPerNamespace: 1\n")
	i.until(t, "the new one to count", func(ctx context.Context) error {
		answer, err := live.Create(ctx, target, []byte(sealed))
		if err == nil && answer.Code != http.StatusCreated {
			err = errors.New(answer.Message())
		}
		return err
	})
	i.until(t, "the limit to be reached", func(ctx context.Context) error {
		return refuses("too-many")(live.DryRun(ctx, target, []byte(seal(t, draft{name: "b",
			namespace: ns}.legacy("v2"))[0])))
	})

	// Another certificate for the same requests.
	i.bundle = certify(t, i.dir)
	unregister(t)
	i.register(t)
}

// TestKubeconfigRenewed: a kubeconfig with a client certificate that is renewed in time needs no
// restart. The guard measures the expiry of the certificate, reports a file that it cannot use, and
// deletes an exception that expires after the first certificate.
func TestKubeconfigRenewed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	writes := func(text string) { must.Do(t, os.WriteFile(file, []byte(text), 0o600)) }
	certified := func(expires time.Time) string { return must.Get(live.CertifiedKubeconfig(expires))(t) }
	expiry := func(at time.Time) string {
		return fmt.Sprintf(`polex_guard_certificate_expiry_timestamp_seconds{file="kubeconfig"} %v`, float64(at.Unix()))
	}
	first, second := time.Now().Add(time.Hour), time.Now().Add(365*24*time.Hour)
	writes(certified(first))
	i := settings{kubeconfig: file}.run(t)
	i.register(t)
	measures := func(what, line string) {
		t.Helper()
		i.until(t, what, i.measures(line))
	}
	measures("the expiry of the first certificate", expiry(first))
	const inUse = `polex_guard_config_last_reload_successful{file="kubeconfig"} `
	measures("the first kubeconfig", inUse+"1")
	for name, text := range map[string]string{"nothing": "", "no YAML": "{", "half": certified(second)[:1000]} {
		writes(text)
		measures(name+" to be reported", inUse+"0")
		measures("the first certificate to stay", expiry(first))
		writes(certified(second))
		measures("the new kubeconfig", inUse+"1")
		writes(certified(first))
		measures("the first kubeconfig again", expiry(first))
	}
	i.until(t, "an Event", contains(eventsOf("default"), "--kubeconfig: "))

	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: namespace(t)}
	short := time.Now().Add(20 * time.Second)
	writes(certified(short))
	measures("the expiry of a short certificate", expiry(short))
	create(t, target, seal(t, draft{name: "a", namespace: target.Namespace, lives: 25 * time.Second}.legacy("v2"))[0]).want(t, http.StatusCreated)
	writes(certified(second))
	measures("the expiry of its successor", expiry(second))
	i.until(t, "the exception to be deleted", noneAt(target))
	expect.That(t, time.Now().After(short), "the short certificate has not expired")
}
