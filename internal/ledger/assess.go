package ledger

import (
	"errors"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// assessment holds the fields of a document and the result of its verification.
type assessment struct {
	verified            bool
	seal                *Seal
	exempted            []Exempted
	policies            []Policy
	said                Said
	startsAt, expiresAt time.Time
	renewal             exception.Renewal
	badRenewal          string
}

// assess verifies a document at the time of the report and at its signing time. If one of the two
// succeeds, it reads the fields from the signed message, otherwise from the file.
func assess(v *verify.Verifier, doc *exception.Document, at time.Time, keys exception.StatementKeys) assessment {
	// Examine does the checks that do not depend on the time once, for both times.
	examined := v.Examine(doc)
	now, err := examined.At(at)
	verdict, facts := verdictOf(now, err)
	s := &Seal{Now: verdict, MessageDigest: facts.MessageDigest, Signatures: []Signature{}}
	var signedAt time.Time
	for _, signature := range facts.Signatures {
		s.Signatures = append(s.Signatures, signatureOf(signature))
		if w := signature.WitnessedAt; signature.Authority != "" && !w.IsZero() && (signedAt.IsZero() || w.Before(signedAt)) {
			signedAt = w
		}
	}
	s.SignedAt = inUTC(signedAt)
	verified := now
	switch {
	case verdict.Holds:
		// It is valid now, so it was valid at the signing too, or only its start was still to come.
		s.AtSigning = verdict
	case signedAt.IsZero():
		s.AtSigning = Verdict{Reason: Unwitnessed, Detail: "no trusted timestamp or log entry proves when it was signed"}
		if verdict.Reason != verify.ReasonExpired && verdict.Reason != verify.ReasonNotYetValid {
			s.AtSigning = verdict // it was never valid
		}
	default:
		then := signedAt
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
	a := statements(from, v.Terms(), keys)
	a.seal, a.verified = s, verified != nil
	return a
}

// verdictOf converts the result of the verifier. A rejection still has the facts that the verifier
// established before it rejected.
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
	certificate := s.Identity.Claims
	first := func(names ...string) string {
		for _, name := range names {
			if certificate[name] != "" {
				return short(certificate[name])
			}
		}
		return ""
	}
	caller := first("buildConfigURI")
	if caller == short(s.Identity.Subject) {
		caller = ""
	}
	return Signature{
		Caller: caller, Environment: first("deploymentEnvironment"), TokenSubject: first("tokenSubject"),
		Authority: s.Authority, Subject: s.Identity.Subject, Issuer: s.Identity.Issuer,
		Run: first("runInvocationURI"), Runner: first("runnerEnvironment"),
		// Fulcio used the second names before 2023.
		Trigger: first("buildTrigger", "githubWorkflowTrigger"), Source: first("sourceRepositoryURI", "githubWorkflowRepository"),
		Ref: first("sourceRepositoryRef", "githubWorkflowRef"), Commit: first("sourceRepositoryDigest", "githubWorkflowSHA"),
		WitnessedAt: inUTC(s.WitnessedAt), LogURL: s.LogURL, LogIndex: LogIndex(s.LogIndex),
	}
}

// statements reads the fields of a document without verifying it. For an object that is not a
// PolicyException, it reads only annotations and the team's own keys.
func statements(doc *exception.Document, terms lifetime.Terms, keys exception.StatementKeys) assessment {
	e, ok := doc.Exception()
	if !ok {
		said := func(key string) exception.Statement { return doc.Statement("metadata", "annotations", key) }
		e = &exception.Exception{
			Reason: said(exception.AnnotationReason), Ticket: said(exception.AnnotationTicket), Owner: said(exception.AnnotationOwner),
			Category: said(exception.AnnotationCategory), RequestedBy: said(exception.AnnotationRequestedBy),
			ApprovedBy: said(exception.AnnotationApprovedBy), PullRequest: said(exception.AnnotationPullRequest),
		}
	}
	keys.Fill(e, doc)
	a := assessment{exempted: []Exempted{}, policies: []Policy{}, said: Said{
		Reason: short(e.Reason.Text), Ticket: short(e.Ticket.Text), Owner: short(e.Owner.Text), Category: short(e.Category.Text),
		RequestedBy: short(e.RequestedBy.Text), ApprovedBy: short(e.ApprovedBy.Text), PullRequest: short(e.PullRequest.Text),
		MergeCommit: short(doc.Annotation(exception.AnnotationMergeCommit)), RecordedFrom: short(doc.Annotation(exception.AnnotationRecordedFrom)),
	}}
	if life, err := lifetime.Of(doc, terms); err == nil {
		a.startsAt, a.expiresAt = inUTC(life.StartsAt), inUTC(life.ExpiresAt)
	}
	var err error
	if a.renewal, err = e.Renewal(); err != nil {
		a.badRenewal = short(err.Error())
	}
	if !ok {
		return a
	}
	read := kyverno.Read(doc)
	a.exempted = exemptedBy(read)
	refs := read.Refs
	for _, ref := range refs[:min(len(refs), maxListed)] {
		p := Policy{Kind: short(ref.Kind.Text), Name: short(ref.Name.Text)}
		for _, rule := range ref.Rules[:min(len(ref.Rules), maxListed)] {
			p.Rules = append(p.Rules, short(rule.Text))
		}
		a.policies = append(a.policies, p)
	}
	return a
}
