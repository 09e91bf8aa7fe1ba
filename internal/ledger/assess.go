package ledger

import (
	"errors"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// assessment is what a document says, and what its seal is worth.
type assessment struct {
	verified            bool
	seal                *Seal
	policies            []Policy
	said                Said
	startsAt, expiresAt time.Time
	renewal             exception.Renewal
	badRenewal          string
}

// assess verifies a document as of a time, and as of when it was signed. What it says
// is taken from what was signed, if one of the two holds.
func assess(v *verify.Verifier, doc *exception.Document, at time.Time) assessment {
	// What the time has no say in is verified once, for both.
	examined := v.Examine(doc)
	now, err := examined.At(at)
	verdict, facts := verdictOf(now, err)
	s := &Seal{Now: verdict, MessageDigest: facts.MessageDigest}
	for _, signature := range facts.Signatures {
		s.Signatures = append(s.Signatures, signatureOf(signature))
		if w := signature.WitnessedAt; signature.Authority != "" && !w.IsZero() && (s.SignedAt.IsZero() || w.Before(s.SignedAt)) {
			s.SignedAt = w
		}
	}
	verified := now
	switch {
	case verdict.Holds:
		// Only its start can have come since.
		s.AtSigning = verdict
	case s.SignedAt.IsZero():
		s.AtSigning = Verdict{Reason: Unwitnessed, Detail: "nobody that is trusted witnessed when it was signed"}
		if verdict.Reason != verify.ReasonExpired && verdict.Reason != verify.ReasonNotYetValid {
			s.AtSigning = verdict // it never held
		}
	default:
		then := s.SignedAt
		if facts.StartsAt.After(then) {
			then = facts.StartsAt
		}
		if verified, err = examined.At(then); err == nil {
			s.AtSigning = Verdict{Holds: true}
		} else {
			s.AtSigning, _ = verdictOf(nil, err)
		}
	}
	from := doc
	if verified != nil {
		from = verified.Message()
	}
	a := claims(from)
	a.seal, a.verified = s, verified != nil
	return a
}

// verdictOf returns what a verifier answered, with the facts that it verified on
// its way.
func verdictOf(verified *verify.Verified, err error) (Verdict, verify.Facts) {
	var rejected *verify.Rejected
	switch {
	case err == nil:
		return Verdict{Holds: true}, verified.Facts()
	case errors.As(err, &rejected):
		return Verdict{Reason: rejected.Reason, Detail: short(rejected.Detail)}, rejected.Facts
	default:
		return Verdict{Reason: Undecided, Detail: short(err.Error())}, verify.Facts{}
	}
}

func signatureOf(s verify.Signature) Signature {
	claims := s.Identity.Claims
	first := func(names ...string) string {
		for _, name := range names {
			if claims[name] != "" {
				return short(claims[name])
			}
		}
		return ""
	}
	return Signature{
		Authority: s.Authority, Subject: s.Identity.Subject, Issuer: s.Identity.Issuer,
		Run: first("runInvocationURI"), Runner: first("runnerEnvironment"),
		// The second names are those that Fulcio gave before 2023.
		Trigger: first("buildTrigger", "githubWorkflowTrigger"), Source: first("sourceRepositoryURI", "githubWorkflowRepository"),
		Ref: first("sourceRepositoryRef", "githubWorkflowRef"), Commit: first("sourceRepositoryDigest", "githubWorkflowSHA"),
		WitnessedAt: s.WitnessedAt, LogURL: s.LogURL, LogIndex: s.LogIndex,
	}
}

// claims are what a document says, whoever wrote it.
func claims(doc *exception.Document) assessment {
	a := assessment{said: Said{MergeCommit: short(doc.Annotation(exception.AnnotationMergeCommit)), RecordedFrom: short(doc.Annotation(exception.AnnotationRecordedFrom))}}
	if life, err := lifetime.OfDocument(doc); err == nil {
		a.startsAt, a.expiresAt = life.StartsAt.UTC(), life.ExpiresAt.UTC()
	}
	e, ok := doc.Exception()
	if !ok {
		for key, into := range map[string]*string{
			exception.AnnotationReason: &a.said.Reason, exception.AnnotationTicket: &a.said.Ticket, exception.AnnotationOwner: &a.said.Owner,
			exception.AnnotationCategory: &a.said.Category, exception.AnnotationRequestedBy: &a.said.RequestedBy,
			exception.AnnotationApprovedBy: &a.said.ApprovedBy, exception.AnnotationPullRequest: &a.said.PullRequest,
		} {
			*into = short(doc.Annotation(key))
		}
		return a
	}
	a.said.Reason, a.said.Ticket, a.said.Owner = short(e.Reason.Text), short(e.Ticket.Text), short(e.Owner.Text)
	a.said.Category, a.said.RequestedBy = short(e.Category.Text), short(e.RequestedBy.Text)
	a.said.ApprovedBy, a.said.PullRequest = short(e.ApprovedBy.Text), short(e.PullRequest.Text)
	var err error
	if a.renewal, err = e.Renewal(); err != nil {
		a.badRenewal = short(err.Error())
	}
	refs := kyverno.Read(doc).Refs
	for _, ref := range refs[:min(len(refs), maxListed)] {
		p := Policy{Kind: short(ref.Kind.Text), Name: short(ref.Name.Text)}
		for _, rule := range ref.Rules[:min(len(ref.Rules), maxListed)] {
			p.Rules = append(p.Rules, short(rule.Text))
		}
		a.policies = append(a.policies, p)
	}
	return a
}
