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
)

// Bounds of what clients can hold.
const (
	// MaxConnections is how many connections are open at once. The API server keeps
	// one for 64 requests at once, and each of its replicas has its own.
	MaxConnections = 512
	// MaxStreams is how many requests are on one connection at once.
	MaxStreams = 64
	// maxHeader is the most bytes of a request's headers. The API server's have a few
	// hundred.
	maxHeader = 16 << 10
	// readBuffer is the most bytes of bodies that wait to be read on a connection, of
	// one request or of all. They are read faster than they come.
	readBuffer = 256 << 10

	handshakeWithin = 5 * time.Second // and the headers, after that
	// idleWithin is longer than the 90 s after which the API server's client closes an
	// idle connection itself, so that none is closed while it sends on it.
	idleWithin   = 2 * time.Minute
	silentWithin = 30 * time.Second // until a silent HTTP/2 connection is asked whether it is there
	answerWithin = 5 * time.Second  // to that, and to take in a byte
	endsWithin   = time.Minute      // from when it is told to end
)

// Config is what a server is made of.
type Config struct {
	Address string // host:port to listen at
	Handler http.Handler
	TLS     *tls.Config // says the certificate
	// Deadline is how long the handler takes for a request at most.
	Deadline time.Duration
	Log      *slog.Logger
	// Connections is how many are open at once; 0 is [MaxConnections].
	Connections int
}

// Listen listens, and returns what serves from then on.
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
		Listener: tls.NewListener(listener{accepted, &connections{most: c.Connections}}, config),
		Server: &http.Server{
			Handler: hearing(c.Handler), TLSConfig: config, MaxHeaderBytes: maxHeader,
			ReadHeaderTimeout: handshakeWithin, ReadTimeout: handshakeWithin + c.Deadline,
			WriteTimeout: handshakeWithin + 2*c.Deadline, IdleTimeout: idleWithin,
			HTTP2: &http.HTTP2Config{
				MaxConcurrentStreams: MaxStreams, MaxReceiveBufferPerConnection: readBuffer, MaxReceiveBufferPerStream: readBuffer,
				SendPingTimeout: silentWithin, PingTimeout: answerWithin, WriteByteTimeout: answerWithin,
			},
			// A line for each handshake that fails would be one more thing to flood.
			ErrorLog:    slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
			ConnContext: withConnection,
		},
	}, nil
}

// withConnection puts the counted connection into the context of its requests.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if secured, ok := conn.(*tls.Conn); ok {
		return context.WithValue(ctx, connectionKey{}, secured.NetConn())
	}
	return ctx
}

// Answers reports whether a server at an address completes a handshake.
func Answers(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", address) // #nosec G402 -- whether it answers, and not who
	if err != nil {
		return fmt.Errorf("the webhook's server does not answer: %w", err)
	}
	return conn.Close()
}
