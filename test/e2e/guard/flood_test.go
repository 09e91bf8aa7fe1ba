//go:build e2e

package guard

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
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
			remove(t, target.Path("other")).want(t, http.StatusOK)
			gone(t, i, target, "ends", texts[0])
			got := stored(t, target)
			expect.That(t, len(got) == 1 && got[0] == "honest", "there are %q", got)
			t.Logf("the guard took %d MiB at most", i.peak(t)>>20)
		})
	}
}

// atLeast is the minimum number of endless bodies in transit before a test continues: those on two connections.
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

// TestNobodyAnswers: while the guard is stopped or hangs, exceptions can be deleted, but neither created
// nor changed. They can when it is back.
func TestNobodyAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		away func(*instance) error
		back func(*testing.T, *instance)
	}{
		"it is gone": {func(i *instance) error { i.group.Stop(); return nil }, func(t *testing.T,
			i *instance) {
			i.again(t)
		}},
		"it hangs": {func(i *instance) error { return i.group.Pause(Program) },
			func(t *testing.T, i *instance) { must.Do(t, i.group.Continue(Program)) }},
	} {
		t.Run(name, func(t *testing.T) {
			i := settings{}.run(t)
			i.register(t)
			patched(t, webhooks+"/polex-guard", "replace", "/webhooks/0/timeoutSeconds", "1")
			ns := namespace(t)
			for _, target := range served {
				target.Namespace = ns
				create(t, target, seal(t, draft{name: "there-" + target.Version, namespace: ns}.in(target))[0]).want(t, http.StatusCreated)
			}
			must.Do(t, tc.away(i))
			defer i.group.Continue(Program) //nolint:errcheck // it may go on by now
			for _, target := range served {
				target.Namespace = ns
				remove(t, target.Path("there-"+target.Version)).want(t, http.StatusOK)
			}
			kinds, signed := []cluster.Target{served[0], served[2]}, make([]string, 2)
			for n, target := range kinds {
				target.Namespace, kinds[n].Namespace = ns, ns
				signed[n] = seal(t, draft{name: "next", namespace: ns}.in(target))[0]
				for _, text := range []string{signed[n], draft{name: "unsigned", namespace: ns}.in(target)} {
					if answer := create(t, target, text); answer.OK() || !strings.Contains(answer.Message(),
						"failed calling webhook") {
						t.Errorf("nobody was asked: %d: %s", answer.Code, answer.Message())
					}
				}
				got := stored(t, target)
				expect.That(t, len(got) == 0, "there are %q", got)
			}
			tc.back(t, i)
			for n, target := range kinds {
				i.until(t, "the guard to answer", func(ctx context.Context) error {
					return cluster.OK(live.Create(ctx, target, []byte(signed[n])))
				})
			}
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
		conn := must.Get(net.Dial("tcp", i.webhook))(t)
		t.Cleanup(func() { _ = conn.Close() })
	}
	create(t, target, seal(t, draft{name: "honest", namespace: target.Namespace}.legacy("v2"))[0]).want(t, http.StatusCreated)
}

// forgedDeletion is a review that only the API server should send.
func forgedDeletion(namespace, name string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"DELETE",`+
		`"kind":{"group":"kyverno.io","version":"v2","kind":"PolicyException"},"namespace":%q,"name":%q,"userInfo":{"username":"system:admin"}}}`, namespace, name)
}

// flood sends parallel forged reviews of deletions to a guard until end is called. end returns the number of answers.
func (i *instance) flood(t *testing.T, namespace string, atOnce int) (end func() int64) {
	t.Helper()
	client := &http.Client{Timeout: waitLimit, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: atOnce, // #nosec G402 -- who answers does not matter
	}}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var n atomic.Int64
	for range atOnce {
		all.Go(func() {
			for ctx.Err() == nil {
				body := forgedDeletion(namespace, fmt.Sprintf("never-was-%d", n.Add(1)))
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+i.webhook+"/admit", bytes.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				if answer, err := client.Do(request); err == nil {
					_, _ = io.Copy(io.Discard, answer.Body)
					answer.Body.Close()
				}
			}
		})
	}
	return func() int64 {
		cancel()
		all.Wait()
		client.CloseIdleConnections()
		return n.Load()
	}
}

// TestForgedDeletions: forged reviews make the guard write nothing about objects that never
// existed, and do not fill its memory. It still reports its real findings.
func TestForgedDeletions(t *testing.T) {
	i := settings{}.run(t)
	ns := namespace(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}
	events := eventsOf(ns)
	i.until(t, "the guard to lead", i.leads)
	end := i.flood(t, ns, 8)
	defer end()
	before := i.peak(t)
	create(t, target, draft{name: "unsigned", namespace: ns}.legacy("v2")).want(t, http.StatusCreated)
	i.until(t, "the Event about what is there", contains(events, `"reason":"Refused"`))
	create(t, target, draft{name: "taken", namespace: ns}.legacy("v2")).want(t, http.StatusCreated)
	i.until(t, "the report", reported(ns, "taken unsigned fail", "unsigned unsigned fail"))
	remove(t, target.Path("taken")).want(t, http.StatusOK)
	i.until(t, "the Event about what was deleted", contains(events, `"reason":"Deleted"`))
	n := end()
	after := i.peak(t)
	t.Logf("%d forged reviews: %d MiB at most before, %d MiB after", n, before>>20, after>>20)
	if body := string(read(t, events).Body); strings.Contains(body, "never-was") || strings.Contains(body,
		"system:admin") {
		t.Error("an Event tells of what never was")
	}
	expect.That(t, n >= 1000, "that was no flood: %d", n)
	const most = 64 << 20
	expect.That(t, after <= before+most, "the memory grew by %d MiB", (after-before)>>20)
}

// TestSlowClients: silent connections and requests with endless bodies do not block valid requests, and are closed.
func TestSlowClients(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	ns := namespace(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}
	honest := seal(t, draft{name: "honest", namespace: ns}.legacy("v2"))[0]
	const silent, trickling = 100, 100
	var ends sync.WaitGroup
	ended := make(chan error, silent+trickling)
	begin := func(what string, begun func(net.Conn) (net.Conn, error)) {
		raw := must.Get(net.Dial("tcp", i.webhook))(t)
		t.Cleanup(func() { raw.Close() })
		conn, err := begun(raw)
		must.That(t, err == nil, "%s: %v", what, err)
		ends.Go(func() {
			_ = conn.SetReadDeadline(time.Now().Add(waitLimit))
			if _, err := io.Copy(io.Discard, conn); err != nil && isTimeout(err) {
				ended <- fmt.Errorf("%s is still there", what)
			}
		})
	}
	for range silent {
		begin("a connection that says nothing", func(c net.Conn) (net.Conn, error) { return c, nil })
	}
	for range trickling {
		begin("a body that does not end", func(c net.Conn) (net.Conn, error) {
			secured := tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}) // #nosec G402 -- who answers does not matter
			_, err := io.WriteString(secured, "POST /admit?timeout=30s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{")
			return secured, err
		})
	}
	create(t, target, honest).want(t, http.StatusCreated)
	create(t, target, widened(t, seal(t, draft{name: "wide", namespace: ns}.legacy("v2"))[0])).refusedFor(t, "altered")
	ends.Wait()
	close(ended)
	for err := range ended {
		t.Error(err)
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}
