package promotion

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// Checks are the rules for documents that are to be signed.
type Checks struct {
	Kinds trust.Kinds
	Shape *shape.Checker
	Rules sign.Rules
	// Overlaps rejects an exception that exempts the same resources as a signed exception that has
	// not expired, unless it renews that one. A new name would otherwise avoid the rules for
	// renewals.
	Overlaps bool
}

// Finding is an error or a warning about a document or a file.
type Finding struct {
	shape.Finding
	Document *exception.Document // nil if only the position is known
}

// Findings are the errors and warnings of a run.
type Findings []Finding

// Error returns the number of findings and the first one.
func (f Findings) Error() string {
	if len(f) == 0 {
		return "refused without a finding"
	}
	return fmt.Sprintf("%d findings, the first at %s: %s [%s]", len(f), f[0].Position, f[0].Message, f[0].Reason)
}

// Refuse reports whether one of the findings is an error.
func (f Findings) Refuse() bool {
	return slices.ContainsFunc(f, func(one Finding) bool { return one.Severity == shape.Error })
}

// Refused converts refusals to findings.
func Refused(refusals exception.Refusals) Findings {
	found := make(Findings, len(refusals))
	for i, r := range refusals {
		found[i].Finding = shape.Finding{Position: r.Position, Reason: r.Reason, Message: r.Message, Hint: r.Hint}
	}
	return found
}

// Check returns the errors and warnings about documents before signing. If there are no errors, it also
// returns the documents of [sign.Prepare].
func (c Checks) Check(docs []*exception.Document, now time.Time) (Findings, []*exception.Document, error) {
	var found Findings
	for _, doc := range docs {
		switch gk := doc.GroupKind(); {
		case !c.Kinds.Allow(gk):
			found = append(found, Finding{Document: doc,
				Finding: shape.Finding{Position: doc.Position(), Reason: ReasonKindNotAllowed,
					Message: fmt.Sprintf("kind %s is not in the accepted kinds (trust.kinds)", gk),
					Hint:    "remove the document, or list the kind in trust.kinds"}})
		case gk.IsException():
			found = append(found, of(doc, c.Shape.Check(doc, now))...)
		}
	}
	if found.Refuse() {
		return found, nil, nil // sign.Prepare would repeat these errors
	}
	prepared, err := sign.Prepare(docs, now, c.Rules)
	if refused := exception.RefusalsIn(err); refused != nil {
		return append(found, Refused(refused)...), nil, nil
	}
	return found, prepared, err
}

// against returns the errors that depend on the present or past files of the target branch.
func (c Checks) against(plan *Plan, now time.Time) (Findings, error) {
	before, err := c.signedBefore(plan)
	if err != nil {
		return nil, err
	}
	found, err := c.overlaps(plan, now)
	return append(Refused(before), found...), err
}

// overlaps returns the errors about exceptions that exempt the same resources as a remaining signed
// exception. It drops warnings, because polex-validate shows them in the pull request.
func (c Checks) overlaps(plan *Plan, now time.Time) (Findings, error) {
	if !c.Overlaps {
		return nil, nil
	}
	set := shape.Set{Thorough: true, Terms: c.Rules.Terms}
	var err error
	set.Live(func(yield func(*exception.Document) bool) {
		more := true
		err = plan.live(func(doc *exception.Document) { more = more && yield(doc) })
	}, now)
	if err != nil {
		return nil, err
	}
	var found Findings
	for _, doc := range plan.Documents() {
		found = append(found, of(doc, c.Shape.Weigh(set.Add(doc)))...)
	}
	return slices.DeleteFunc(found, func(f Finding) bool { return f.Severity != shape.Error }), nil
}

// of makes findings about a document.
func of(doc *exception.Document, found []shape.Finding) Findings {
	all := make(Findings, len(found))
	for i, f := range found {
		all[i] = Finding{Document: doc, Finding: f}
	}
	return all
}

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
	err := plan.run.Clone.Ever(plan.on, plan.run.Signed, func(tree *git.Tree, entry git.Entry) error {
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
			refusals = append(refusals, &exception.Refusal{Position: doc.Position(),
				Reason: pending.ReasonAlreadySigned,
				Message: fmt.Sprintf("commit %.12s has it signed in %s, and grandfathered in the trust policy is "+
					"only for exceptions that were never signed", tree.Commit(), entry.Path),
				Hint: "add the annotation " + exception.AnnotationExpiresIn + ": 30d"})
		}
		return err
	})
	return refusals, err
}

// ReasonMalformed rejects a file in addition to [pending.Reasons].
const ReasonMalformed = "malformed"

// ReasonKindNotAllowed rejects a document of a kind that is not in [Checks.Kinds].
const ReasonKindNotAllowed = verify.ReasonKindNotAllowed

// The reasons to reject a signed file from another job.
const (
	ReasonNotTheRequest  = "not-the-request"
	ReasonUnexpectedFile = "unexpected-file"
	ReasonSignedEarlier  = "signed-earlier"
	ReasonNotAtCommit    = "not-at-commit"
	ReasonNotSigned      = "not-signed" // with [Options.KeepGoing]
)

// The reasons to skip a file: another run promotes it or has promoted it.
const (
	ReasonChangedSince = "changed-since"
	ReasonGoneSince    = "gone-since"
)

// Reasons returns all of them.
func Reasons() []exception.Reason {
	return append(pending.Reasons(), []exception.Reason{
		{Name: ReasonKindNotAllowed, Doc: "the trust policy does not name the kind"},
		{Name: ReasonMalformed, Doc: "the document cannot be read unambiguously"},
		{Name: ReasonNotTheRequest, Doc: "the signed file is missing, or differs from the pending file"},
		{Name: ReasonUnexpectedFile, Doc: "the folder of signed files holds a file that its manifest does not name"},
		{Name: ReasonSignedEarlier, Doc: "the file was signed before it was requested"},
		{Name: ReasonNotAtCommit, Doc: "the commit of the run that signed the file lacks the request, and the trust " +
			"policy requires it"},
		{Name: ReasonNotSigned, Doc: "the folder of signed files lacks the file"},
		{Name: ReasonChangedSince, Doc: "the file or the configuration has changed, and the run of the newer commit " +
			"promotes it", Severity: exception.SeverityWarning},
		{Name: ReasonGoneSince, Doc: "the file was signed or removed by now", Severity: exception.SeverityWarning},
	}...)
}
