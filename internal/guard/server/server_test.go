package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/guard/server"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// serving is a running server.
type serving struct {
	address string
	client  *tls.Config
}

func serve(t *testing.T, c server.Config) serving {
	t.Helper()
	certified := httptest.NewTLSServer(nil) // for its certificate
	certified.Close()
	pool := x509.NewCertPool()
	pool.AddCert(certified.Certificate())
	if c.Handler == nil {
		c.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answered") })
	}
	if c.TLS == nil {
		c.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	c.TLS.Certificates = certified.TLS.Certificates
	c.Address, c.Deadline, c.Log = "127.0.0.1:0", time.Minute, slog.New(slog.NewTextHandler(t.Output(), nil))
	s := must.Get(server.Listen(t.Context(), c))(t)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	t.Cleanup(func() {
		_ = s.Server.Close()
		stop()
		err := <-ended
		expect.NoError(t, err)
	})
	return serving{s.Listener.Addr().String(), &tls.Config{RootCAs: pool, ServerName: "example.com", MinVersion: tls.VersionTLS12}}
}

// get sends a request on a connection and returns the status.
func get(t *testing.T, conn net.Conn) int {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}}
	answer := must.Get(c.Get("https://server/"))(t)
	defer answer.Body.Close()
	must.Get(io.Copy(io.Discard, answer.Body))(t)
	return answer.StatusCode
}

// open opens a connection, completes the handshake and sends nothing.
func (s serving) open(t *testing.T) *tls.Conn {
	t.Helper()
	conn := must.Get((&tls.Dialer{Config: s.client}).DialContext(t.Context(), "tcp", s.address))(t)
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(*tls.Conn)
}

// isClosed waits until the server has closed a connection.
func isClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	_, err := conn.Read(make([]byte, 1))
	expect.That(t, err != nil, "the server says something")
}

// TestQuietConnectionsGiveWay: a new connection closes the one that was idle for the longest time,
// also before its handshake.
func TestQuietConnectionsGiveWay(t *testing.T) {
	s := serve(t, server.Config{Connections: 3})
	working := s.open(t)
	got := get(t, working)
	must.That(t, got == http.StatusOK, "%v", got)
	var silent []net.Conn
	for range 2 {
		silent = append(silent, s.open(t))
	}
	raw := must.Get(net.Dial("tcp", s.address))(t)
	defer raw.Close()
	// The active connection had its last request before the silent ones were opened.
	isClosed(t, working)
	asked := s.open(t)
	isClosed(t, silent[0])
	expect.Is(t, "result", http.StatusOK, get(t, asked))
	for range 10 { // each new one closes the silent one that was idle for longer
		s.open(t)
		expect.Is(t, "result", http.StatusOK, get(t, s.open(t)))
	}
	isClosed(t, silent[1])
	isClosed(t, raw)
}

// TestOthersStay: a client that opens connections as fast as it can closes none of another client,
// which is slow: not before its handshake, in its request, or between two requests.
func TestOthersStay(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has other addresses of loopback than 127.0.0.1")
	}
	s := serve(t, server.Config{Connections: 4, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })})
	raw := must.Get(net.Dial("tcp", s.address))(t)
	defer raw.Close()
	slow := tls.Client(raw, s.client)
	const request = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na"
	answers := bufio.NewReader(slow)
	for _, step := range []struct {
		name string
		does func() error
	}{
		{"the handshake", slow.Handshake},
		{"half of a request", func() error { _, err := io.WriteString(slow, request); return err }},
		{"the rest", func() error {
			_, err := io.WriteString(slow, "b")
			return errors.Join(err, isAnswered(answers))
		}},
		{"another request", func() error {
			_, err := io.WriteString(slow, request+"b")
			return errors.Join(err, isAnswered(answers))
		}},
	} {
		s.flood(t, "127.0.0.2")
		s.flood(t, "127.0.0.3")
		err := step.does()
		must.That(t, err == nil, "%s: %v", step.name, err)
	}
}

// flood sends a request on each of many connections from an address, and leaves them open.
func (s serving) flood(t *testing.T, from string) {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	for range 8 {
		conn := must.Get((&tls.Dialer{NetDialer: dialer, Config: s.client}).DialContext(t.Context(), "tcp",
			s.address))(t)
		t.Cleanup(func() { _ = conn.Close() })
		got := get(t, conn)
		must.That(t, got == http.StatusOK, "%v", got)
	}
}

func isAnswered(from *bufio.Reader) error {
	answer, err := http.ReadResponse(from, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

// TestHeardConnectionsStay: an old connection with recent requests is not the one to close.
func TestHeardConnectionsStay(t *testing.T) {
	s := serve(t, server.Config{Connections: 2})
	conn := s.open(t)
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1, DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}}
	silent := s.open(t)
	for range 5 {
		answer := must.Get(client.Get("https://server/"))(t)
		must.Get(io.Copy(io.Discard, answer.Body))(t)
		_ = answer.Body.Close()
		next := s.open(t)
		isClosed(t, silent)
		silent = next
	}
}

// TestStreams: the server announces the maximum number of concurrent requests on a connection.
func TestStreams(t *testing.T) {
	s := serve(t, server.Config{})
	s.client.NextProtos = []string{"h2"}
	conn := s.open(t)
	got := conn.ConnectionState().NegotiatedProtocol
	must.That(t, got == "h2", "%q", got)
	// RFC 9113, 3.4 and 6.5: the server begins with its settings, each of six bytes.
	header := make([]byte, 9)
	must.Get(io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))(t)
	must.Get(io.ReadFull(conn, header))(t)
	settings := make([]byte, int(header[0])<<16|int(header[1])<<8|int(header[2]))
	if _, err := io.ReadFull(conn, settings); err != nil || header[3] != 4 {
		t.Fatalf("%v: a frame of type %d", err, header[3])
	}
	const maxConcurrentStreams = 3
	said := map[uint16]uint32{}
	for ; len(settings) >= 6; settings = settings[6:] {
		said[binary.BigEndian.Uint16(settings)] = binary.BigEndian.Uint32(settings[2:])
	}
	expect.Is(t, "streams on a connection", server.MaxStreams, said[maxConcurrentStreams])
}

// TestBounds: the times of a connection and the size of its headers are limited.
func TestBounds(t *testing.T) {
	s := must.Get(server.Listen(t.Context(), server.Config{Address: "127.0.0.1:0",
		TLS: &tls.Config{MinVersion: tls.VersionTLS12}, Deadline: time.Second,
		Log: slog.New(slog.DiscardHandler)}))(t)
	defer s.Listener.Close()
	for what, got := range map[string]time.Duration{
		"handshake and headers": s.Server.ReadHeaderTimeout, "request": s.Server.ReadTimeout, "answer": s.Server.WriteTimeout, "pause": s.Server.IdleTimeout,
	} {
		expect.That(t, got > 0 && got <= 3*time.Minute, "%s may take %s", what, got)
	}
	got := s.Server.MaxHeaderBytes
	expect.That(t, got > 0 && got <= 64<<10, "headers may have %d bytes", got)
}

// TestAnswers: Answers distinguishes a server that answers from an address without a listener.
func TestAnswers(t *testing.T) {
	s := serve(t, server.Config{})
	expect.NoError(t, server.Answers(t.Context(), s.address))
	nobody := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	_ = nobody.Close()
	expect.That(t, server.Answers(t.Context(), nobody.Addr().String()) != nil, "nobody answers")
}
