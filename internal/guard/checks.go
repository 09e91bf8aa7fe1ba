package guard

import (
	"context"
	"errors"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/verify"
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

// rollback rejects an update to an object that was signed earlier: it would undo a later
// restriction.
//
// It compares the signed messages and not the stored state, because the API server may convert the
// state to the version of the request. The old object has no influence if its signature does not
// verify or belongs to another object. Otherwise a forged signing time could keep out a valid
// exception.
func (j *judge) rollback(verified *verify.Verified, old *exception.Document) error {
	if old == nil {
		return nil
	}
	before, err := j.signedMessage(old, verified.Message().Identity())
	if err != nil || before.Facts().MessageDigest == verified.Facts().MessageDigest {
		return nil //nolint:nilerr // as above
	}
	was, is := before.SignedAt(), verified.SignedAt()
	if was.IsZero() && is.IsZero() {
		// Both can get new evidence later, so the log entry or timestamp is the best known time.
		was, is = factsOf(before.Facts()).witnessed(), factsOf(verified.Facts()).witnessed()
	}
	switch {
	case was.IsZero() && !is.IsZero():
		return nil
	case is.IsZero():
		return refuse(ReasonRollback, "its signing time is not proven, so it may be older than the stored exception")
	case is.Before(was):
		return refuse(ReasonRollback, "it was signed at %s, before the stored exception, at %s",
			timestamp(is), timestamp(was))
	}
	return nil
}

// messageOf returns the signed message of an object, and the annotations that it comes from. The message
// is nil if there is none. It is not verified yet.
func messageOf(doc *exception.Document) (*exception.Document, *seal.Seal) {
	annotations, err := seal.Read(doc)
	if err != nil {
		return nil, nil
	}
	message, err := seal.ParseMessage(annotations.Message)
	if err != nil {
		return nil, nil
	}
	return message, annotations
}

var errNoMessage = errors.New("it has no signed message, or that of another object")

// signedMessage verifies the signed message of an object without its other fields.
func (j *judge) signedMessage(doc *exception.Document, id exception.Identity) (*verify.Verified, error) {
	message, annotations := messageOf(doc)
	if message == nil || message.Identity() != id {
		return nil, errNoMessage
	}
	whole, err := seal.Attach(message, annotations)
	if err != nil {
		return nil, err
	}
	return j.rules.verifier.Verify(whole, j.now)
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
