package guard

import (
	"context"
	"errors"

	"github.com/polex-dev/polex/pkg/exception"
)

// ErrGone is returned for an object that is not there, or is another one by now.
var ErrGone = errors.New("it is gone")

// ErrNotServed is returned for a version that the API server does not serve.
var ErrNotServed = errors.New("the API server does not serve it")

// ErrHeld is returned for an object that is being deleted and stays, since its
// finalizers keep it.
var ErrHeld = errors.New("its finalizers keep it")

// State tells a stored object, and a change of it, from all others.
type State struct{ UID, ResourceVersion string }

// Object is an object as it is stored, shown in one version.
type Object struct {
	State
	Identity exception.Identity
	Version  string
	Dying    bool // somebody has deleted it, and it is there until its finalizers are gone
	// Document is nil for an object that cannot be read, and then Unreadable says why.
	Document   *exception.Document
	Unreadable error
}

// Store is what is stored in the cluster. internal/guard/cluster has the one that is an
// API server. It is safe for use by many goroutines.
type Store interface {
	// States returns which objects there are of some kinds, as they were told last.
	// A kind that is not served has none.
	States(ctx context.Context, kinds []exception.GroupKind) (map[exception.Identity]State, error)
	// Scan reads everything of some kinds, in any version, and shows it object by
	// object. It keeps none of them.
	Scan(ctx context.Context, kinds []exception.GroupKind, show func(*Object)) error
	// Read reads an object in a version; "" is any. It returns [ErrGone] or
	// [ErrNotServed], or an object that is not nil: beside another error it has the
	// state that was told last, and no document.
	Read(ctx context.Context, id exception.Identity, version string) (*Object, error)
	// Delete deletes the object in this very state, or in any where the state names no
	// resource version, in the background, so that nothing that depends on it keeps it.
	// It returns [ErrGone] for one that is in another
	// state, and [ErrHeld] for one that is there all the same.
	Delete(ctx context.Context, id exception.Identity, state State) error
}
