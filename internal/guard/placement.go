package guard

import (
	"context"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// place rejects an exception in a namespace or cluster that is not allowed. A document that names a
// cluster is rejected if the guard does not know the name of its own cluster.
func (j *judge) place(message *exception.Document) error {
	allowed := j.rules.settings.Namespaces
	if namespace := message.Identity().Namespace; len(allowed) > 0 && !allowed.Include(namespace) {
		return refuse(ReasonNamespaceNotAllowed,
			"the namespace %q is not in the configuration (guard.namespaces)", namespace)
	}
	switch named := wildcard.Names(message.Clusters()); {
	case named == nil && j.rules.settings.RequireCluster:
		return refuse(ReasonNoCluster, "it names no cluster")
	case named == nil:
		return nil
	case j.cluster == "":
		return refuse(ReasonAnotherCluster,
			"it is for the clusters %q, and the guard does not know its own cluster (--cluster-name)", named)
	case !named.Include(j.cluster):
		return refuse(ReasonAnotherCluster, "it is for the clusters %q, and this is %q", named, j.cluster)
	}
	return nil
}

// reachesGuard rejects an exception that would exempt exceptions from the policies that protect
// them. The signer makes no difference.
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

// drops rejects an update that would leave Kyverno with the stored exception for some policies, also
// after the expiry of both. Kyverno learns of a deletion.
func (c change) drops() error {
	if !c.doc.GroupKind().IsException() {
		return nil
	}
	if c.old == nil {
		const unread = "the stored exception cannot be read, so it may name other policies: %v"
		return refuse(ReasonDropsPolicy, unread, c.unreadable)
	}
	if dropped := kyverno.Dropped(c.old, c.doc); len(dropped) > 0 {
		return refuse(ReasonDropsPolicy, "Kyverno would still apply the stored exception to the policies %q, "+
			"which this one no longer names, or names with several rules", dropped)
	}
	return nil
}

// tooMany rejects an exception beyond the limit of its namespace. Two exceptions that are created
// at the same time can both pass: the limit prevents accumulation and is not a lock.
func (j *judge) tooMany(ctx context.Context, message *exception.Document) error {
	most := j.rules.settings.MaxPerNamespace
	if most == 0 {
		return nil
	}
	id := message.Identity()
	if j.count == nil {
		return refuse(ReasonUndecided, "nothing counts the objects of the namespace %q", id.Namespace)
	}
	stored, err := j.count(ctx, id.GroupKind, id.Namespace)
	if err != nil {
		return err
	}
	if stored >= most {
		return refuse(ReasonTooMany, "%d of its kind are in %q, and the maximum is %d", stored, id.Namespace, most)
	}
	return nil
}
