package guard

import (
	"context"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

// AnnotationCluster names the one cluster that an exception is for. It stands in
// the message, so that what was approved for one cluster counts in no other.
const AnnotationCluster = "polex.dev/cluster"

// place refuses what does not belong here. A document that names a cluster is
// refused where nobody told the guard which one this is.
func (j *judge) place(message *exception.Document) error {
	if namespace := message.Identity().Namespace; !j.rules.settings.allowsNamespace(namespace) {
		return refuse(ReasonNamespaceNotAllowed, "the namespace %q is not in the configuration (guard.namespaces)", namespace)
	}
	switch named := message.Annotation(AnnotationCluster); {
	case named == "" && j.rules.settings.RequireCluster:
		return refuse(ReasonNoCluster, "it does not say which cluster it is for")
	case named == "" || named == j.cluster:
		return nil
	case j.cluster == "":
		return refuse(ReasonAnotherCluster, "it is for the cluster %q, and the guard was not told which one this is", named)
	default:
		return refuse(ReasonAnotherCluster, "it is for the cluster %q, and this is %q", named, j.cluster)
	}
}

// reachesGuard refuses an exception that would exempt exceptions from what
// guards them, whoever signed it.
func (j *judge) reachesGuard(message *exception.Document) error {
	if !message.GroupKind().IsException() {
		return nil
	}
	verdict := kyverno.ReachesGuard(message, j.rules.reach)
	if !verdict.Reaches() {
		return nil
	}
	way := verdict.Ways()[0]
	return refuse(ReasonReachesGuard, "%s: %s", way.Path, way.Message)
}

// tooMany refuses what would be one more than may stand in a namespace. Two that
// are created at once can both be counted as the last: the limit keeps a
// namespace from filling up, and is no lock.
func (j *judge) tooMany(ctx context.Context, message *exception.Document) error {
	most := j.rules.settings.MaxPerNamespace
	if most == 0 {
		return nil
	}
	id := message.Identity()
	if j.count == nil {
		return refuse(ReasonUndecided, "nothing counts the objects of the namespace %q", id.Namespace)
	}
	there, err := j.count(ctx, id.GroupKind, id.Namespace)
	if err != nil {
		return err
	}
	if there >= most {
		return refuse(ReasonTooMany, "%d of its kind stand in %q, and %d may", there, id.Namespace, most)
	}
	return nil
}
