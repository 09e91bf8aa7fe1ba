package cluster

import (
	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
)

// maxFresh is the maximum number of bytes of objects from the watch that nobody has read yet.
// Objects beyond that are read from the API server.
const maxFresh = 4 << 20

// fresh holds objects that the watch has just reported, so that they are not read again.
type fresh struct {
	held map[exception.Identity]freshObject
	size int
}

type freshObject struct {
	object *guard.Object
	size   int
}

// put keeps an object of the given size, or drops it if there is no room. It replaces the previous
// state of the object.
func (f *fresh) put(o *guard.Object, size int) {
	f.take(o.Identity)
	if f.size+size > maxFresh {
		return
	}
	if f.held == nil {
		f.held = map[exception.Identity]freshObject{}
	}
	f.held[o.Identity] = freshObject{o, size}
	f.size += size
}

// take returns and removes an object; nil: it is not here.
func (f *fresh) take(id exception.Identity) *guard.Object {
	t, known := f.held[id]
	if !known {
		return nil
	}
	delete(f.held, id)
	f.size -= t.size
	return t.object
}
