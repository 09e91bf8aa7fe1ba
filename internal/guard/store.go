package guard

import (
	"context"
	"errors"

	"github.com/polex-dev/polex/pkg/exception"
)

// ErrGone means that the object does not exist, or that another one has its name.
var ErrGone = errors.New("it is gone")

// ErrNotServed means that the API server does not serve the version.
var ErrNotServed = errors.New("the API server does not serve it")

// ErrHeld means that the object is being deleted, and finalizers keep it.
var ErrHeld = errors.New("its finalizers keep it")

// State identifies one state of one stored object.
type State struct{ UID, ResourceVersion string }

// Object is a stored object in one version.
type Object struct {
	State
	Identity exception.Identity
	Version  string
	Dying    bool // its deletion was requested, and finalizers keep it
	// Document is nil if the object cannot be read; Unreadable is then the error.
	Document   *exception.Document
	Unreadable error
}

// Store reads and deletes the stored objects. internal/guard/cluster implements it with an API
// server. It is safe for concurrent use.
type Store interface {
	// States returns the last known states of all objects of a kind, and whether changes of them are
	// seen. It does not wait. A kind that is not served has no objects.
	States(kind exception.GroupKind) (states map[exception.Identity]State, watched bool)
	// Scan passes all objects of a kind, in any version, to show one by one. It keeps none.
	Scan(ctx context.Context, kind exception.GroupKind, show func(*Object)) error
	// Read reads an object in a version; "" is any, and then an object that was just reported is not
	// read again. It returns [ErrGone] or [ErrNotServed], or a
	// non-nil object. With another error, the object has its last known state and no document.
	Read(ctx context.Context, id exception.Identity, version string) (*Object, error)
	// Delete deletes an object only in this state, or in any state if the state has no resource
	// version. It deletes in the background, so dependents do not delay it. It returns [ErrGone]
	// for an object in another state, and [ErrHeld] for one that finalizers keep.
	Delete(ctx context.Context, id exception.Identity, state State) error
}
