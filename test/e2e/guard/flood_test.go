//go:build e2e

package guard

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// TestFlood: hundreds of connections and streams send endless bodies. Valid exceptions are still
// stored, others rejected, deletions succeed, and an expired exception is deleted.
func TestFlood(t *testing.T) {
	for name, send := range map[string]func(ctx context.Context, address string, begun chan<- struct{}, ends *sync.WaitGroup){
		"streams": func(ctx context.Context, address string, begun chan<- struct{}, ends *sync.WaitGroup) {
			for range 2 {
				transport := &http.Transport{ForceAttemptHTTP2: true, MaxConnsPerHost: 1, TLSClientConfig: unverified(), DialContext: flooder().DialContext}
				for range 240 {
					ends.Go(func() { streams(ctx, transport, "https://"+address+"/admit", begun) })
				}
			}
		},
		"connections": func(ctx context.Context, address string, begun chan<- struct{}, ends *sync.WaitGroup) {
			for range 600 {
				ends.Go(func() { connects(ctx, address, begun) })
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := settings{}.run(t)
			i.register(t)
			target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: namespace(t)}
			texts := seal(t, draft{name: "ends", namespace: target.Namespace, lives: 15 * time.Second}.legacy("v2"),
				draft{name: "other", namespace: target.Namespace}.legacy("v2"), draft{name: "honest", namespace: target.Namespace}.legacy("v2"))
			create(t, target, texts[0]).want(t, http.StatusCreated)
			create(t, target, texts[1]).want(t, http.StatusCreated)
			begun := make(chan struct{}, atLeast)
			ctx, stop := context.WithCancel(t.Context())
			var ends sync.WaitGroup
			defer ends.Wait()
			defer stop()
			send(ctx, i.webhook, begun, &ends)
			for range atLeast {
				<-begun
			}
			began := time.Now()
			create(t, target, texts[2]).want(t, http.StatusCreated)
			t.Logf("a create took %s", time.Since(began).Round(time.Millisecond))
			create(t, target, widened(t, texts[2])).refusedFor(t, "altered")
			do(t, cluster.Request{Method: http.MethodDelete, Path: target.Path("other")}).want(t, http.StatusOK)
			gone(t, i, target, "ends", texts[0])
			if got := stored(t, target); len(got) != 1 || got[0] != "honest" {
				t.Errorf("there are %q", got)
			}
			t.Logf("the guard took %d MiB at most", i.peak(t)>>20)
		})
	}
}

// atLeast is the minimum number of endless bodies in transit before a test continues: those on two
// connections.
const atLeast = 128

// unverified does not check the server's certificate. A transport changes its configuration.
func unverified() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true} // #nosec G402 -- a flood does not care
}

// flooder dials from another address than that of the API server, as a Pod does.
func flooder() *net.Dialer {
	if runtime.GOOS != "linux" { // only Linux has other addresses of loopback
		return &net.Dialer{}
	}
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
}

// streams sends endless bodies, one after the other, as HTTP/2 streams of a transport.
func streams(ctx context.Context, transport *http.Transport, url string, begun chan<- struct{}) {
	for ctx.Err() == nil {
		body, sender := io.Pipe()
		go func() {
			if _, err := sender.Write([]byte("{")); err == nil {
				told(begun)
			}
		}()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
		if err != nil {
			return
		}
		if answer, err := (&http.Client{Transport: transport}).Do(request); err == nil {
			_ = answer.Body.Close()
		}
		_ = body.Close()
	}
}

// connects sends endless bodies, one after the other, each on its own connection.
func connects(ctx context.Context, address string, begun chan<- struct{}) {
	for ctx.Err() == nil {
		conn, err := (&tls.Dialer{NetDialer: flooder(), Config: unverified()}).DialContext(ctx, "tcp", address)
		if err != nil {
			continue
		}
		end := context.AfterFunc(ctx, func() { _ = conn.Close() })
		if _, err := io.WriteString(conn, "POST /admit HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n{"); err == nil {
			told(begun)
			_, _ = io.Copy(io.Discard, conn)
		}
		end()
		_ = conn.Close()
	}
}

// told signals that a body is in transit, if the test still waits for it.
func told(begun chan<- struct{}) {
	select {
	case begun <- struct{}{}:
	default:
	}
}

// TestNobodyAnswers: while the guard is stopped or hangs, exceptions and namespaces can be deleted,
// but not created or changed.
func TestNobodyAnswers(t *testing.T) {
	for name, away := range map[string]func(*instance) error{
		"it is gone": func(i *instance) error { i.group.Stop(); return nil },
		"it hangs":   func(i *instance) error { return i.group.Pause(Program) },
	} {
		t.Run(name, func(t *testing.T) {
			i := settings{}.run(t)
			i.register(t)
			ns := namespace(t)
			sealed := seal(t, draft{name: "next", namespace: ns}.legacy("v2"), draft{name: "next", namespace: ns}.policies("v1"))
			for _, target := range served {
				target.Namespace = ns
				create(t, target, seal(t, draft{name: "there-" + target.Version, namespace: ns}.in(target))[0]).want(t, http.StatusCreated)
			}
			if err := away(i); err != nil {
				t.Fatal(err)
			}
			for _, target := range served {
				target.Namespace = ns
				do(t, cluster.Request{Method: http.MethodDelete, Path: target.Path("there-" + target.Version)}).want(t, http.StatusOK)
			}
			for n, text := range sealed {
				target := []cluster.Target{served[0], served[2]}[n]
				target.Namespace = ns
				if answer := create(t, target, text); answer.OK() {
					t.Error("it is created, and nobody was asked")
				}
			}
			_ = i.group.Continue(Program) // so that it can stop
		})
	}
}

// TestSilentConnections: silent connections beyond the guard's limit do not block valid requests.
func TestSilentConnections(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: namespace(t)}
	const more = 700
	for range more {
		conn, err := net.Dial("tcp", i.webhook)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	create(t, target, seal(t, draft{name: "honest", namespace: target.Namespace}.legacy("v2"))[0]).want(t, http.StatusCreated)
}
