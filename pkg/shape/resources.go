package shape

import (
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/match"
)

// ResourceSet is the objects of a repository that exceptions may exempt. It
// does not change once it is read and can be used by several goroutines.
type ResourceSet = match.Resources

// ReadResources makes a set of those documents that are objects of a cluster,
// whatever their kind, and passes over the others: values, kustomizations.
// Objects are taken as they are written; what a template or an overlay makes of
// them is not known.
func ReadResources(docs []*exception.Document) *ResourceSet { return match.ReadResources(docs) }
