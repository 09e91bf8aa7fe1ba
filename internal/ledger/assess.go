package ledger

import (
	"cmp"
	"errors"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/verify"
)

// assess verifies a document at the time of the report and at its signing time. If one of the two
// succeeds, it reads the fields from the signed message, otherwise from the file.
func assess(v *verify.Verifier, doc *exception.Document, at time.Time, keys exception.StatementKeys) *Entry {
	// Examine does the checks that do not depend on the time once, for both times.
	examined := v.Examine(doc)
	now, err := examined.At(at)
	verdict, facts := verdictOf(now, err)
	s := &Seal{Now: verdict, MessageDigest: facts.MessageDigest, Signatures: []Signature{}}
	var signedAt time.Time
	for _, signature := range facts.Signatures {
		s.Signatures = append(s.Signatures, signatureOf(signature))
		w, trusted := signature.WitnessedAt, signature.Authority != ""
		if trusted && !w.IsZero() && (signedAt.IsZero() || w.Before(signedAt)) {
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
		const detail = "no trusted timestamp or log entry proves when it was signed"
		s.AtSigning = Verdict{Reason: Unwitnessed, Detail: detail}
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
	e := statements(from, v.Terms(), keys)
	e.Seal, e.Verified = s, verified != nil
	return e
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
	first := func(name, older string) string { return short(cmp.Or(certificate[name], certificate[older])) }
	caller := short(certificate["buildConfigURI"])
	if caller == short(s.Identity.Subject) {
		caller = ""
	}
	return Signature{
		Caller: caller, TokenSubject: short(certificate["tokenSubject"]),
		Environment: short(certificate["deploymentEnvironment"]),
		Authority:   s.Authority, Subject: s.Identity.Subject, Issuer: s.Identity.Issuer,
		Run: short(certificate["runInvocationURI"]), Runner: short(certificate["runnerEnvironment"]),
		// Fulcio used the second names before 2023.
		Trigger:     first("buildTrigger", "githubWorkflowTrigger"),
		Source:      first("sourceRepositoryURI", "githubWorkflowRepository"),
		Ref:         first("sourceRepositoryRef", "githubWorkflowRef"),
		Commit:      first("sourceRepositoryDigest", "githubWorkflowSHA"),
		WitnessedAt: inUTC(s.WitnessedAt), LogURL: s.LogURL, LogIndex: LogIndex(s.LogIndex),
	}
}

// statements reads the fields of a document without verifying it. For an object that is not a
// PolicyException, it reads only annotations and the team's own keys.
func statements(doc *exception.Document, terms lifetime.Terms, keys exception.StatementKeys) *Entry {
	stated, ok := doc.Exception()
	if !ok {
		at := func(key string) exception.Statement { return doc.Statement("metadata", "annotations", key) }
		stated = &exception.Exception{
			Reason: at(exception.AnnotationReason), Ticket: at(exception.AnnotationTicket),
			Owner: at(exception.AnnotationOwner), Category: at(exception.AnnotationCategory),
			RequestedBy: at(exception.AnnotationRequestedBy), ApprovedBy: at(exception.AnnotationApprovedBy),
			PullRequest: at(exception.AnnotationPullRequest),
		}
	}
	keys.Fill(stated, doc)
	e := &Entry{Exempted: []Exempted{}, Policies: []Policy{}, Said: Said{
		Reason: short(stated.Reason.Text), Ticket: short(stated.Ticket.Text), Owner: short(stated.Owner.Text),
		Category: short(stated.Category.Text), RequestedBy: short(stated.RequestedBy.Text),
		ApprovedBy: short(stated.ApprovedBy.Text), PullRequest: short(stated.PullRequest.Text),
		MergeCommit:  short(doc.Annotation(exception.AnnotationMergeCommit)),
		RecordedFrom: short(doc.Annotation(exception.AnnotationRecordedFrom)),
	}}
	if life, err := lifetime.Of(doc, terms); err == nil {
		e.StartsAt, e.ExpiresAt = inUTC(life.StartsAt), inUTC(life.ExpiresAt)
	}
	var err error
	if e.renewal, err = stated.Renewal(); err != nil {
		e.badRenewal = short(err.Error())
	}
	if !ok {
		return e
	}
	read := kyverno.Read(doc)
	e.Exempted = exemptedBy(read)
	for _, ref := range read.Refs[:min(len(read.Refs), maxListed)] {
		p := Policy{Kind: short(ref.Kind.Text), Name: short(ref.Name.Text)}
		for _, rule := range ref.Rules[:min(len(ref.Rules), maxListed)] {
			p.Rules = append(p.Rules, short(rule.Text))
		}
		e.Policies = append(e.Policies, p)
	}
	return e
}
