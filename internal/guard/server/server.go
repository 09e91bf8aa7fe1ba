package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/polex-dev/polex/internal/guard/fair"
)

// Limits for clients.
const (
	// MaxConnections is the number of open connections. Each replica of the API server opens one
	// for every 64 concurrent requests.
	MaxConnections = 512
	// MaxStreams is the number of concurrent requests on one connection.
	MaxStreams = 64
	// maxHeader is the maximum number of bytes of the headers. The API server sends a few hundred.
	maxHeader = 16 << 10
	// readBuffer is the maximum number of unread bytes of bodies, for one request and for one
	// connection. The server reads them faster than they arrive.
	readBuffer = 256 << 10

	handshakeWithin = 5 * time.Second // for the handshake, and again for the headers
	// idleWithin is longer than 90 s. After that time the client of the API server closes an idle
	// connection itself, so the server closes none while the client sends.
	idleWithin   = 2 * time.Minute
	silentWithin = 30 * time.Second // until a silent HTTP/2 connection gets a ping
	answerWithin = 5 * time.Second  // for the answer to a ping, and to accept a byte
	endsWithin   = time.Minute      // for a shutdown
)

// Config is the configuration of a server.
type Config struct {
	Address string // host:port to listen on
	Handler http.Handler
	TLS     *tls.Config // contains the certificate
	// Deadline is the maximum time of the handler for a request.
	Deadline time.Duration
	Log      *slog.Logger
	// Connections is the number of open connections; 0 is [MaxConnections].
	Connections int
}

// Listen opens the listener and returns the server for it.
func Listen(ctx context.Context, c Config) (*manager.Server, error) {
	accepted, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Address)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", c.Address, err)
	}
	config := c.TLS.Clone()
	config.NextProtos = []string{"h2", "http/1.1"}
	if c.Connections <= 0 {
		c.Connections = MaxConnections
	}
	ends := endsWithin
	return &manager.Server{
		Name: "webhook", ShutdownTimeout: &ends,
		Listener: tls.NewListener(listener{accepted, &fair.Places[net.Conn]{Most: c.Connections}}, config),
		Server: &http.Server{
			Handler: hearing(c.Handler), TLSConfig: config, MaxHeaderBytes: maxHeader,
			ReadHeaderTimeout: handshakeWithin, ReadTimeout: handshakeWithin + c.Deadline,
			WriteTimeout: handshakeWithin + 2*c.Deadline, IdleTimeout: idleWithin,
			HTTP2: &http.HTTP2Config{
				MaxConcurrentStreams:          MaxStreams,
				MaxReceiveBufferPerConnection: readBuffer, MaxReceiveBufferPerStream: readBuffer,
				SendPingTimeout: silentWithin, PingTimeout: answerWithin, WriteByteTimeout: answerWithin,
			},
			// A line for each failed handshake would let clients flood the log.
			ErrorLog:    slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
			ConnContext: withConnection,
		},
	}, nil
}

// withConnection adds the connection to the context of its requests.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if secured, ok := conn.(*tls.Conn); ok {
		return context.WithValue(ctx, connectionKey{}, secured.NetConn())
	}
	return ctx
}

// Answers reports whether the server at an address completes a handshake.
func Answers(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", address) // #nosec G402 -- whether it answers, and not who
	if err != nil {
		return fmt.Errorf("the webhook's server does not answer: %w", err)
	}
	return conn.Close()
}
