package guard

import (
	"context"
	"errors"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// ErrGone is returned for an object that is not there, or is another one by now.
var ErrGone = errors.New("it is gone")

// Object is an object as it is stored.
type Object struct {
	Document        *exception.Document
	UID             string
	ResourceVersion string
}

// Store is what is stored in the cluster. pkg/guard/cluster has the one that is an
// API server.
type Store interface {
	// Identities returns which objects there are of some kinds, "Kind.group".
	// A kind that is not served has none.
	Identities(ctx context.Context, kinds []exception.GroupKind) ([]exception.Identity, error)
	// Known returns an object as it was told last, in any version; it costs
	// nothing.
	Known(ctx context.Context, id exception.Identity) (*Object, error)
	// Read reads an object in a version.
	Read(ctx context.Context, id exception.Identity, version string) (*Object, error)
	// Delete deletes this object in this very state, or returns [ErrGone].
	Delete(ctx context.Context, id exception.Identity, o *Object) error
}

// inItsVersion reads an object in the version that its message names: in another
// one the API server may show it otherwise than it was signed. What has no message
// is fine in any.
func inItsVersion(ctx context.Context, store Store, id exception.Identity, known *Object) (*Object, error) {
	sealed, err := seal.Read(known.Document)
	if err != nil {
		return known, nil //nolint:nilerr // the verifier says what is wrong with it
	}
	message, err := seal.ParseMessage(sealed.Message)
	if err != nil || message.GroupKind() != id.GroupKind || message.Version() == known.Document.Version() {
		return known, nil //nolint:nilerr // as above
	}
	return store.Read(ctx, id, message.Version())
}
