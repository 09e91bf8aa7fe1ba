package server

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// connections limits the open connections. There is always room for a new one: it closes the
// connection that had no request for the longest time. A client that holds many idle connections
// therefore loses its own.
type connections struct {
	most int

	mu    sync.Mutex
	quiet list.List // of *connection, the longest idle first
}

// connection is a connection that counts until it is closed.
type connection struct {
	net.Conn
	among *connections
	place *list.Element
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
	var quietest *connection
	if c.quiet.Len() >= c.most {
		quietest = c.quiet.Front().Value.(*connection)
		c.quiet.Remove(quietest.place)
	}
	added := &connection{Conn: conn, among: c}
	added.place = c.quiet.PushBack(added)
	c.mu.Unlock()
	if quietest != nil {
		_ = quietest.Conn.Close() // its server notices the error and drops it
	}
	return added
}

// Close closes the connection, which then no longer counts.
func (c *connection) Close() error {
	c.among.mu.Lock()
	c.among.quiet.Remove(c.place) // no effect if add removed it
	c.among.mu.Unlock()
	return c.Conn.Close()
}

// heard records that a request began or ended on a connection.
func (c *connection) heard() {
	c.among.mu.Lock()
	defer c.among.mu.Unlock()
	c.among.quiet.MoveToBack(c.place) // no effect if add removed it
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
