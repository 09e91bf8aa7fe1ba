package server

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// connections bounds how many connections are open. There is always room for a new one:
// the one on which a request began or ended last the longest ago is closed for it. A
// client that holds many and says nothing on them therefore closes its own.
type connections struct {
	most int

	mu    sync.Mutex
	quiet list.List // of *connection, the longest quiet first
}

// connection is one that is counted until it is closed.
type connection struct {
	net.Conn
	among *connections
	place *list.Element
}

// listener counts what it accepts.
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
		_ = quietest.Conn.Close() // whoever serves it finds out, and lets it go
	}
	return added
}

// Close closes the connection, which is not counted any more.
func (c *connection) Close() error {
	c.among.mu.Lock()
	c.among.quiet.Remove(c.place) // nothing where it gave way before
	c.among.mu.Unlock()
	return c.Conn.Close()
}

// heard says that a request began or ended on a connection.
func (c *connection) heard() {
	c.among.mu.Lock()
	defer c.among.mu.Unlock()
	c.among.quiet.MoveToBack(c.place) // nothing where it gave way before
}

// hearing notes when requests begin and end.
func hearing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			c.heard()
			defer c.heard()
		}
		next.ServeHTTP(w, r)
	})
}

// connectionKey is where a request's context holds its connection.
type connectionKey struct{}
