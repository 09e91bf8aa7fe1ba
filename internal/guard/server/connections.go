package server

import (
	"net"
	"net/http"
	"sync"

	"github.com/polex-dev/polex/internal/guard/fair"
)

// connections limits the open connections. There is always room for a new one: it closes the
// connection that had no request for the longest time, of the client with most connections. A client
// that opens many connections therefore loses its own, and no other client loses one in its handshake
// or request.
type connections struct {
	most int

	mu   sync.Mutex
	open fair.Places[net.Conn]
}

// connection is a connection that counts until it is closed.
type connection struct {
	net.Conn
	among *connections
	place *fair.Place[net.Conn]
}

// listener counts the connections that it accepts.
type listener struct {
	net.Listener
	among *connections
}

func (l listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.among.add(conn), nil
}

func (c *connections) add(conn net.Conn) *connection {
	c.mu.Lock()
	var displaced *fair.Place[net.Conn]
	if c.open.Len() >= c.most {
		displaced = c.open.Next()
		c.open.Remove(displaced)
	}
	place := c.open.Add(conn.RemoteAddr().String(), conn)
	c.mu.Unlock()
	if displaced != nil {
		_ = displaced.Value.Close() // its server notices the error and drops it
	}
	return &connection{conn, c, place}
}

// Close closes the connection, which then no longer counts.
func (c *connection) Close() error {
	c.among.mu.Lock()
	c.among.open.Remove(c.place)
	c.among.mu.Unlock()
	return c.Conn.Close()
}

// heard records that a request began or ended on a connection.
func (c *connection) heard() {
	c.among.mu.Lock()
	defer c.among.mu.Unlock()
	c.among.open.Use(c.place)
}

// hearing records the beginning and the end of each request.
func hearing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			c.heard()
			defer c.heard()
		}
		next.ServeHTTP(w, r)
	})
}

// connectionKey is the key of the connection in the context of a request.
type connectionKey struct{}
