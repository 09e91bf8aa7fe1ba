package exception

// The annotations in which people say what an exception is for. They stand
// inside the signed message.
const (
	AnnotationReason      = "polex.dev/reason"
	AnnotationTicket      = "polex.dev/ticket"
	AnnotationOwner       = "polex.dev/owner"
	AnnotationCategory    = "polex.dev/category"
	AnnotationRequestedBy = "polex.dev/requested-by"
	AnnotationApprovedBy  = "polex.dev/approved-by"
	AnnotationPullRequest = "polex.dev/pull-request"
	AnnotationStartsAt    = "polex.dev/starts-at"
	AnnotationExpiresIn   = "polex.dev/expires-in"
	AnnotationExpiresAt   = "polex.dev/expires-at"
)

// AnnotationSignedAt is the annotation in which polex-sign states when it signed, as
// an RFC 3339 time, where the signature itself does not bind the time: a log entry or
// a timestamp can be had for an old signature at any later time.
const AnnotationSignedAt = "polex.dev/signed-at"

// The annotations that are recorded beside who requested and approved it, when
// it is signed: the commit that brought the request, and where all of that is
// known from.
const (
	AnnotationMergeCommit  = "polex.dev/merge-commit"
	AnnotationRecordedFrom = "polex.dev/recorded-from"
)

// LabelTTL is the label by which Kyverno's cleanup controller deletes an object, at a
// time or so long after it was created.
const LabelTTL = "cleanup.kyverno.io/ttl"

// The annotations of an exception that takes up where another one ends: which one,
// as "name@sha256:" and the hex of the SHA-256 of that one's signed message, and how
// many there have been in a row, counted from 1. The predecessor is of the same
// group and namespace.
const (
	AnnotationRenews  = "polex.dev/renews"
	AnnotationRenewal = "polex.dev/renewal"
)

// Statement is something that the document says, with the place where it says
// it. An empty Text means that it does not say it.
type Statement struct {
	Text string
	Path Path
	// Other is what stands there instead, such as "a number" or [EmptyText]. It is ""
	// where there is a text, or nothing.
	Other string
}

// EmptyText is what [Statement] calls a text without a character.
const EmptyText = "an empty text"

// Exception is what a PolicyException of either API group says of itself: who it is, why, for
// whom and for how long.
type Exception struct {
	Identity Identity
	Version  string

	Reason, Ticket, Owner, Category      Statement
	RequestedBy, ApprovedBy, PullRequest Statement
	Renews, RenewalNumber                Statement // see [Exception.Renewal]

	// StartsAt, ExpiresAt and SignedAt are RFC 3339 times, ExpiresIn a duration, as
	// written: internal/lifetime reads them.
	StartsAt, ExpiresIn, ExpiresAt, SignedAt Statement

	// Conflicts are statements made twice, in a native field and in an
	// annotation, with different words.
	Conflicts []Conflict
}

// Conflict is one thing said in two places.
type Conflict struct {
	Native, Annotation Statement
}

// Exception returns the document as a PolicyException, or false when it is of
// another kind. It does not check the schema: what has the wrong type is as if
// it were absent.
func (d *Document) Exception() (*Exception, bool) {
	if !d.GroupKind().IsException() {
		return nil, false
	}
	e := &Exception{Identity: d.Identity(), Version: d.Version()}
	e.Reason = e.say(d, AnnotationReason)
	e.Ticket = e.say(d, AnnotationTicket)
	e.ApprovedBy = e.say(d, AnnotationApprovedBy)
	e.ExpiresAt = e.say(d, AnnotationExpiresAt)
	e.Owner = e.say(d, AnnotationOwner)
	e.Category = e.say(d, AnnotationCategory)
	e.RequestedBy = e.say(d, AnnotationRequestedBy)
	e.PullRequest = e.say(d, AnnotationPullRequest)
	e.Renews = e.say(d, AnnotationRenews)
	e.RenewalNumber = e.say(d, AnnotationRenewal)
	e.StartsAt = e.say(d, AnnotationStartsAt)
	e.ExpiresIn = e.say(d, AnnotationExpiresIn)
	e.SignedAt = e.say(d, AnnotationSignedAt)
	return e, true
}

// say reads a statement from its native field, where the group has one and it
// is set, and from the annotation otherwise.
func (e *Exception) say(d *Document, annotation string) Statement {
	said := d.Statement("metadata", "annotations", annotation)
	path, isField := StatementPath(e.Identity.GroupKind, annotation)
	if !isField || said.Other != "" {
		return said
	}
	field := d.Statement(path...)
	if field.Text == "" && field.Other == "" {
		return said
	}
	if said.Text != "" && field.Text != "" && said.Text != field.Text && annotation != AnnotationExpiresAt { // internal/lifetime refuses two ends
		e.Conflicts = append(e.Conflicts, Conflict{Native: field, Annotation: said})
	}
	return field
}

// Statement returns what the document says at a path. What is no text, or an empty
// one, is not the same as nothing: somebody may have meant it.
func (d *Document) Statement(path ...any) Statement {
	s := Statement{Path: path}
	at, _, whole := d.root.find(path)
	if !whole {
		return s
	}
	switch value := at.scalar.(type) {
	case string:
		if s.Text = value; value == "" {
			s.Other = EmptyText
		}
	case bool:
		s.Other = "true or false"
	case int64, float64:
		s.Other = "a number"
	default:
		s.Other = map[nodeKind]string{scalarNode: "null", mappingNode: "a mapping", sequenceNode: "a list"}[at.kind]
	}
	return s
}
