//go:build e2e

package guard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
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
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
