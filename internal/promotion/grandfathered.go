package promotion

import (
	"errors"
	"fmt"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/seal"
)

// signedBefore rejects a grandfathered exception that was signed before. A grandfathered entry of
// the trust policy exists for exceptions older than polex. It must not bring back an exception that
// was signed and removed. The check needs the full history of the target branch.
func (c Checks) signedBefore(plan *Plan) (exception.Refusals, error) {
	grandfathered := map[exception.IdentityKey]*exception.Document{}
	for _, doc := range plan.Documents() {
		if life, err := lifetime.Of(doc, c.Rules.Terms); err == nil && !life.ExpiresAt.IsZero() &&
			len(life.End.Path) == 0 {
			grandfathered[doc.Identity().Key()] = doc
		}
	}
	if len(grandfathered) == 0 {
		return nil, nil
	}
	var refusals exception.Refusals
	q := plan.queue
	err := q.clone.Ever(plan.on, q.options.Signed, func(tree *git.Tree, entry git.Entry) error {
		if !pending.Signs(pending.File{Path: entry.Path, Mode: uint32(entry.Mode)}) {
			return nil
		}
		docs, err := documentsIn(tree, entry)
		for _, signed := range docs {
			key := signed.Identity().Key()
			doc := grandfathered[key]
			if _, err := seal.Read(signed); doc == nil || errors.Is(err, seal.ErrUnsigned) {
				continue
			}
			delete(grandfathered, key)
			refusals = append(refusals, &exception.Refusal{Position: doc.Position(), Reason: ReasonAlreadySigned,
				Message: fmt.Sprintf("commit %.12s has it signed in %s, and grandfathered in the trust policy is "+
					"only for exceptions that were never signed", tree.Commit(), entry.Path),
				Hint: "add the annotation " + exception.AnnotationExpiresIn + ": 30d"})
		}
		return err
	})
	return refusals, err
}
