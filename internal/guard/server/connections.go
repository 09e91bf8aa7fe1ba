package server

import (
	"net"
	"net/http"

	"github.com/polex-dev/polex/internal/guard/fair"
)

// listener limits the open connections. There is always room for a new one: it closes the connection
// that had no request for the longest time, of the client with most connections. A client that opens
// many connections therefore loses its own, and no other client loses one in its handshake or request.
type listener struct {
	net.Listener
	open *fair.Places[net.Conn]
}

// connection is a connection that counts until it is closed.
type connection struct {
	net.Conn
	place *fair.Place[net.Conn]
}

func (l listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.add(conn), nil
}

func (l listener) add(conn net.Conn) *connection {
	place := l.open.Add(conn.RemoteAddr().String(), conn, func(other net.Conn) bool {
		_ = other.Close() // its server notices the error and drops it
		return true
	})
	return &connection{conn, place}
}

// Close closes the connection, which then no longer counts.
func (c *connection) Close() error {
	c.place.Remove()
	return c.Conn.Close()
}

// hearing records the beginning and the end of each request.
func hearing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			c.place.Use()
			defer c.place.Use()
		}
		next.ServeHTTP(w, r)
	})
}

// connectionKey is the key of the connection in the context of a request.
type connectionKey struct{}
