package cluster

import (
	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
)

// maxFresh is the most bytes of objects that the watch has told and nobody has looked
// at yet. What is beyond that is read from the API server when it is looked at.
const maxFresh = 4 << 20

// fresh are objects as the watch has just told them, so that they need not be read
// again.
type fresh struct {
	held map[exception.Identity]told
	size int
}

type told struct {
	object *guard.Object
	size   int
}

// put keeps an object of so many bytes, in place of what was told of it before, or
// drops it.
func (f *fresh) put(o *guard.Object, size int) {
	f.take(o.Identity)
	if f.size+size > maxFresh {
		return
	}
	if f.held == nil {
		f.held = map[exception.Identity]told{}
	}
	f.held[o.Identity] = told{o, size}
	f.size += size
}

// take hands out what was told of an object, or nil, and keeps it no longer.
func (f *fresh) take(id exception.Identity) *guard.Object {
	t, known := f.held[id]
	if !known {
		return nil
	}
	delete(f.held, id)
	f.size -= t.size
	return t.object
}
