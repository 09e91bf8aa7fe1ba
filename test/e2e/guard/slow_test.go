//go:build e2e

package guard

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// TestSlowClients: silent connections and requests with endless bodies do not block valid requests,
// and are closed.
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
		raw, err := net.Dial("tcp", i.webhook)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { raw.Close() })
		conn, err := begun(raw)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
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
