//go:build e2e

package guard

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// TestPartition: a guard that cannot reach the API server, but can be reached, is not ready and
// still decides from its files. When the connection is back, it checks existing exceptions again.
func TestPartition(t *testing.T) {
	way := openWay(t)
	i := settings{kubeconfig: way.kubeconfig, guard: "  maxPerNamespace: 3\n"}.run(t)
	i.register(t)
	ns := namespace(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}
	sealed := seal(t, draft{name: "before", namespace: ns}.legacy("v2"), draft{name: "during", namespace: ns}.legacy("v2"), draft{name: "wide", namespace: ns}.legacy("v2"))
	i.until(t, "the guard to lead", func(ctx context.Context) error { return i.measures(ctx, "polex_guard_leader 1") })
	create(t, target, sealed[0]).want(t, http.StatusCreated)

	way.block()
	i.until(t, "the guard to see it", func(ctx context.Context) error {
		if i.ready(ctx) == nil {
			return errors.New("it says that it is ready")
		}
		return errors.Join(get(ctx, "http://"+i.health+"/healthz"), i.measures(ctx, "polex_guard_leader 0"))
	})
	create(t, target, sealed[1]).want(t, http.StatusCreated)
	short := seal(t, draft{name: "short", namespace: ns, lives: 5 * time.Second}.legacy("v2"))[0]
	create(t, target, short).want(t, http.StatusCreated)
	create(t, target, widened(t, sealed[2])).refusedFor(t, "altered")
	do(t, cluster.Request{Method: http.MethodDelete, Path: target.Path("before")}).want(t, http.StatusOK)

	way.unblock()
	gone(t, i, target, "short", short)
	i.until(t, "the guard to be ready and to lead", func(ctx context.Context) error {
		return errors.Join(i.ready(ctx), i.measures(ctx, "polex_guard_leader 1"))
	})
}

// way is a connection to the API server that can be blocked. Then no data passes, and no connection
// is refused.
type way struct {
	kubeconfig string

	mu   sync.Mutex
	open chan struct{} // closed while it is open
}

func openWay(t *testing.T) *way {
	t.Helper()
	text, err := os.ReadFile(live.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(live.Server())
	if err != nil {
		t.Fatal(err)
	}
	w := &way{kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), open: make(chan struct{})}
	close(w.open)
	address := relay(t, func(ctx context.Context) (net.Conn, error) {
		to, err := (&net.Dialer{}).DialContext(ctx, "tcp", server.Host)
		return &wayConn{Conn: to, way: w}, err
	})
	t.Cleanup(w.unblock)
	if err := os.WriteFile(w.kubeconfig, []byte(strings.Replace(string(text), server.Host, address, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
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
