package shape

import (
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/match"
	"github.com/polex-dev/polex/pkg/exception"
)

// PolicySet holds the known policies. Without one, the checks that need it are skipped; an empty
// one means that there are no policies. It does not change, and several goroutines can use it.
type PolicySet = kyverno.PolicySet

// ReadPolicies makes a set of the documents that are Kyverno policies, in any version of their
// group, and ignores the others: a folder of policies also holds their tests and values. A policy
// that is written several times, for example once for each cluster, has the rules of all of them.
func ReadPolicies(docs []*exception.Document) *PolicySet { return kyverno.ReadPolicies(docs) }

// ResourceSet holds the objects of a repository that exceptions may exempt. It does not change, and
// several goroutines can use it.
type ResourceSet = match.Resources

// ReadResources makes a set of the documents that are objects of a cluster, of any kind, and
// ignores the others: values, kustomizations. It reads objects as written, without templates or
// overlays.
func ReadResources(docs []*exception.Document) *ResourceSet { return match.ReadResources(docs) }
