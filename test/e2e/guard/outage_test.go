//go:build e2e

package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestKilled: while the guard is repeatedly killed and restarted, no unsigned exception is
// admitted. A signed one is admitted as soon as a guard answers.
func TestKilled(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	ns := namespace(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}
	const exceptions = 24
	var drafts []string
	for n := range exceptions {
		drafts = append(drafts, draft{name: fmt.Sprintf("honest-%02d", n), namespace: ns}.legacy("v2"))
	}
	honest := seal(t, drafts...)
	var mu sync.Mutex
	refusals := map[string]int{}
	admits := func(text string) bool {
		answer, err := live.Create(context.Background(), target, []byte(text))
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			refusals["no API server"]++
		case answer.OK():
			return true
		case isDenial(answer):
			refusals[denial.FindStringSubmatch(answer.Message())[1]]++
		case strings.Contains(answer.Message(), "failed calling webhook"):
			refusals["no guard"]++
		default:
			t.Errorf("%d %s", answer.Code, answer.Message())
		}
		return false
	}
	var creating sync.WaitGroup
	waiting := make(chan int, exceptions)
	for n := range exceptions {
		waiting <- n
	}
	close(waiting)
	var admitted atomic.Int32
	const atOnce = 4
	for range atOnce {
		creating.Go(func() {
			for n := range waiting {
				for attempt := 0; ; attempt++ {
					forged := fmt.Sprintf("forged-%02d-%d", n, attempt)
					admits(strings.Replace(honest[n], fmt.Sprintf("honest-%02d", n), forged, 1))
					admits(draft{name: "un" + forged, namespace: ns}.legacy("v2"))
					if admits(honest[n]) {
						admitted.Add(1)
						break
					}
					if t.Context().Err() != nil {
						return
					}
				}
			}
		})
	}
	const kills, between = 5, exceptions / 8
	for n := range int32(kills) {
		i.until(t, "exceptions to get in", func(context.Context) error {
			got := admitted.Load()
			return expect.Unless(got >= n*between, "%d did", got)
		})
		must.Do(t, i.group.Kill(Program))
		i.again(t)
	}
	creating.Wait()
	t.Logf("refused: %v", refusals)
	for _, reason := range []string{"no guard", "altered", "unsigned"} {
		expect.That(t, refusals[reason] != 0, "nothing was refused for %q", reason)
	}
	var want []string
	for n := range exceptions {
		want = append(want, fmt.Sprintf("honest-%02d", n))
	}
	got := stored(t, target)
	expect.That(t, slices.Equal(got, want), "there are %q", got)
}

// stored returns the names of the exceptions in a namespace.
func stored(t *testing.T, target cluster.Target) []string {
	t.Helper()
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	decode(t, read(t, target.Path("")), &list)
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Metadata.Name)
	}
	slices.Sort(names)
	return names
}

// TestAPIServerRestarts: after a restart of the API server, the guard is called again, checks
// existing exceptions again, and deletes expired ones.
func TestAPIServerRestarts(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	ns := namespace(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}
	short := seal(t, draft{name: "short", namespace: ns, lives: 20 * time.Second}.legacy("v2"))[0]
	create(t, target, short).want(t, http.StatusCreated)
	restartAPIServer(t)
	i.asked(t)
	create(t, target, widened(t, seal(t, draft{name: "wide", namespace: ns}.legacy("v2"))[0])).refusedFor(t, "altered")
	create(t, target, seal(t, draft{name: "honest", namespace: ns}.legacy("v2"))[0]).want(t, http.StatusCreated)
	gone(t, i, target, "short", short)
	i.until(t, "the guard to lead and be ready", func(ctx context.Context) error {
		return errors.Join(i.ready(ctx), i.leads(ctx))
	})
	// New changes are seen too, not only those planned before.
	next := seal(t, draft{name: "next", namespace: ns, lives: 3 * time.Second}.legacy("v2"))[0]
	create(t, target, next).want(t, http.StatusCreated)
	gone(t, i, target, "next", next)
	got := stored(t, target)
	expect.That(t, slices.Equal(got, []string{"honest"}), "there are %q", got)
}

func restartAPIServer(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitLimit)
	defer cancel()
	must.Do(t, live.RestartAPIServer(ctx))
}

// TestEtcdStops: an exception that expires while nothing can be stored is deleted afterwards, once.
// Nothing else is deleted, not even a new exception with the same name.
func TestEtcdStops(t *testing.T) {
	withoutKyverno(t) // it ends when it cannot renew its Lease
	i := settings{}.run(t)
	i.register(t)
	ns := namespace(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}
	i.until(t, "the guard to lead", i.leads)
	namesake := seal(t, draft{name: "short", namespace: ns}.legacy("v2"))[0]
	sealed := seal(t, draft{name: "short", namespace: ns, lives: 5 * time.Second}.legacy("v2"), draft{name: "long", namespace: ns}.legacy("v2"))
	create(t, target, sealed[0]).want(t, http.StatusCreated)
	create(t, target, sealed[1]).want(t, http.StatusCreated)
	must.Do(t, live.Pause(cluster.Etcd))
	defer live.Continue(cluster.Etcd) //nolint:errcheck // it goes on by now, unless the test failed
	// It expires, and the lease runs out.
	i.until(t, "the guard to feel it", i.measures("polex_guard_leader 0"))
	must.That(t, !time.Now().Before(endOf(t, sealed[0])), "etcd did not stop for long enough")
	must.Do(t, live.Continue(cluster.Etcd))
	gone(t, i, target, "short", sealed[0])
	create(t, target, namesake).want(t, http.StatusCreated)
	// When another exception is deleted, the controller has checked all since.
	last := seal(t, draft{name: "last", namespace: ns, lives: 3 * time.Second}.legacy("v2"))[0]
	create(t, target, last).want(t, http.StatusCreated)
	gone(t, i, target, "last", last)
	got := stored(t, target)
	expect.That(t, slices.Equal(got, []string{"long", "short"}), "there are %q", got)
	i.until(t, "the deletions to be counted", i.measures(`polex_guard_deletions_total{reason="expired"} 2`))
	i.until(t, "the Events", tells(ns, "Removed", "last", "short"))
}

// tells checks that the Events of a reason in a namespace are about these objects, each once.
func tells(ns, reason string, want ...string) check {
	return func(ctx context.Context) error {
		var list struct {
			Items []struct {
				Reason    string
				Regarding struct{ Name string }
				Series    json.RawMessage
			}
		}
		if err := cluster.Into(&list)(live.Get(ctx, eventsOf(ns))); err != nil {
			return err
		}
		var got []string
		for _, event := range list.Items {
			if event.Reason != reason {
				continue
			}
			got = append(got, event.Regarding.Name)
			if event.Series != nil {
				got = append(got, event.Regarding.Name) // also duplicates
			}
		}
		slices.Sort(got)
		return expect.Unless(slices.Equal(got, want), "Events %s are about %q, not %q", reason, got, want)
	}
}

// TestLeaderKilled: after the leader is killed, the other guard becomes the leader and deletes expired exceptions.
func TestLeaderKilled(t *testing.T) {
	first := settings{}.run(t)
	first.until(t, "the first guard to lead", first.leads)
	second := settings{}.run(t)
	ns := namespace(t)
	target := cluster.Target{Group: "policies.kyverno.io", Version: "v1", Namespace: ns}
	short := seal(t, draft{name: "short", namespace: ns, lives: 3 * time.Second}.policies("v1"))[0]
	must.Do(t, second.measures("polex_guard_leader 0")(t.Context()))
	must.Do(t, first.group.Kill(Program))
	create(t, target, short).want(t, http.StatusCreated)
	gone(t, second, target, "short", short)
	second.until(t, "the second to have deleted it", func(ctx context.Context) error {
		return errors.Join(second.leads(ctx), second.measures(`polex_guard_deletions_total{reason="expired"} 1`)(ctx))
	})
}

// TestPartition: a guard that cannot reach the API server, but can be reached, is not ready and
// still decides from its files. When the connection is back, it checks existing exceptions again.
func TestPartition(t *testing.T) {
	way := openWay(t)
	i := settings{kubeconfig: way.kubeconfig, guard: "  maxPerNamespace: 3\n"}.run(t)
	i.register(t)
	ns := namespace(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}
	sealed := seal(t, draft{name: "before", namespace: ns}.legacy("v2"), draft{name: "during", namespace: ns}.legacy("v2"), draft{name: "wide", namespace: ns}.legacy("v2"))
	i.until(t, "the guard to lead", i.leads)
	create(t, target, sealed[0]).want(t, http.StatusCreated)

	way.block()
	i.until(t, "the guard to see it", func(ctx context.Context) error {
		if i.ready(ctx) == nil {
			return errors.New("it says that it is ready")
		}
		return errors.Join(get(ctx, "http://"+i.health+"/healthz"), i.measures("polex_guard_leader 0")(ctx))
	})
	create(t, target, sealed[1]).want(t, http.StatusCreated)
	short := seal(t, draft{name: "short", namespace: ns, lives: 5 * time.Second}.legacy("v2"))[0]
	create(t, target, short).want(t, http.StatusCreated)
	create(t, target, widened(t, sealed[2])).refusedFor(t, "altered")
	remove(t, target.Path("before")).want(t, http.StatusOK)

	way.unblock()
	gone(t, i, target, "short", short)
	i.until(t, "the guard to be ready and to lead", func(ctx context.Context) error {
		return errors.Join(i.ready(ctx), i.leads(ctx))
	})
}

// way is a connection to the API server that can be blocked. Then no data passes, and no connection is refused.
type way struct {
	kubeconfig string

	mu   sync.Mutex
	open chan struct{} // closed while it is open
}

func openWay(t *testing.T) *way {
	t.Helper()
	text := must.Get(os.ReadFile(live.Kubeconfig()))(t)
	server := must.Get(url.Parse(live.Server()))(t)
	w := &way{kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), open: make(chan struct{})}
	close(w.open)
	address := relay(t, func(ctx context.Context) (net.Conn, error) {
		to, err := (&net.Dialer{}).DialContext(ctx, "tcp", server.Host)
		return &wayConn{Conn: to, way: w}, err
	})
	t.Cleanup(w.unblock)
	must.Do(t, os.WriteFile(w.kubeconfig, []byte(strings.Replace(string(text), server.Host, address, 1)), 0o600))
	return w
}

func (w *way) block() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = make(chan struct{})
}

func (w *way) unblock() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.open:
	default:
		close(w.open)
	}
}

func (w *way) pass() {
	w.mu.Lock()
	open := w.open
	w.mu.Unlock()
	<-open
}

// wayConn is a connection to the API server that waits while it is blocked.
type wayConn struct {
	net.Conn
	way *way
}

func (c *wayConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.way.pass()
	return n, err
}

func (c *wayConn) Write(p []byte) (int, error) {
	c.way.pass()
	return c.Conn.Write(p)
}
