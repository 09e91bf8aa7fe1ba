package shape

import (
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/match"
	"github.com/polex-dev/polex/pkg/exception"
)

// PolicySet holds the known policies that exceptions are from. Without one, the checks
// that need it are skipped; an empty one means that there are no policies. It does not
// change once it is read and can be used by several goroutines.
type PolicySet = kyverno.PolicySet

// ReadPolicies makes a set of those documents that are Kyverno policies, in
// whichever version of their group, and passes over the others: a folder of
// policies also holds their tests and values. A policy that is written several
// times, say once for each cluster, has the rules of all of them.
func ReadPolicies(docs []*exception.Document) *PolicySet { return kyverno.ReadPolicies(docs) }

// ResourceSet is the objects of a repository that exceptions may exempt. It
// does not change once it is read and can be used by several goroutines.
type ResourceSet = match.Resources

// ReadResources makes a set of those documents that are objects of a cluster,
// of any kind, and passes over the others: values, kustomizations.
// Objects are taken as they are written, before a template or an overlay changes them.
func ReadResources(docs []*exception.Document) *ResourceSet { return match.ReadResources(docs) }
