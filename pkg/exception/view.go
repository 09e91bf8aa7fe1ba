package exception

import "strings"

// The annotations with statements about an exception. They are part of the signed message.
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
	AnnotationCluster     = "polex.dev/cluster" // polex-guard rejects it in every other cluster
)

// AnnotationSignedAt is the annotation with the signing time, as an RFC 3339 time. polex-sign
// writes it if the signature itself does not bind the time: anybody can get a log entry or a
// timestamp for an old signature later.
const AnnotationSignedAt = "polex.dev/signed-at"

// The annotations for the merge commit of the request, and for the source of the review record
// (requester, approvers, pull request and merge commit). They are written before the signing.
const (
	AnnotationMergeCommit  = "polex.dev/merge-commit"
	AnnotationRecordedFrom = "polex.dev/recorded-from"
)

// LabelTTL is a label of Kyverno's cleanup controller, which deletes the object at that time or
// after that duration.
const LabelTTL = "cleanup.kyverno.io/ttl"

// The annotations of an exception that renews another one: the predecessor, as "name@sha256:" and
// the hexadecimal SHA-256 of its signed message, and the number of renewals in a row, from 1. The
// predecessor is in the same group and namespace.
const (
	AnnotationRenews  = "polex.dev/renews"
	AnnotationRenewal = "polex.dev/renewal"
)

// Statement is a text in the document with its path, such as the reason. An empty Text means that
// the statement is missing.
type Statement struct {
	Text string
	Path Path
	// Other describes a value that is not such a text, such as "a number" or [EmptyText]. It is ""
	// if there is a text, or no value.
	Other string
}

// EmptyText is the Other of a [Statement] with an empty text.
const EmptyText = "an empty text"

// Exception has the statements of a PolicyException of either API group about its identity, reason,
// owner, review and lifetime.
type Exception struct {
	Identity Identity
	Version  string

	Reason, Ticket, Owner, Category      Statement
	RequestedBy, ApprovedBy, PullRequest Statement
	Renews, RenewalNumber                Statement // see [Exception.Renewal]

	// StartsAt, ExpiresAt and SignedAt are RFC 3339 times, ExpiresIn is a duration, all as written.
	// pkg/lifetime parses them.
	StartsAt, ExpiresIn, ExpiresAt, SignedAt Statement

	// Conflicts are statements with different texts in a field and in an annotation.
	Conflicts []Conflict
}

// Conflict is one statement with two different texts.
type Conflict struct {
	Native, Annotation Statement
}

// Exception returns the document as a PolicyException, or false if it is of another kind. It does
// not check the schema. A value of the wrong type has an empty Text.
func (d *Document) Exception() (*Exception, bool) {
	if !d.GroupKind().IsException() {
		return nil, false
	}
	e := &Exception{Identity: d.Identity(), Version: d.Version()}
	for _, a := range e.annotations() {
		if a.into != nil {
			*a.into = e.say(d, a.key)
		}
	}
	return e, true
}

// annotations returns every annotation of polex with its statement, or nil if other code reads it.
func (e *Exception) annotations() []annotation {
	return []annotation{{AnnotationReason, &e.Reason}, {AnnotationTicket, &e.Ticket}, {AnnotationOwner, &e.Owner},
		{AnnotationCategory, &e.Category}, {AnnotationStartsAt, &e.StartsAt}, {AnnotationExpiresIn, &e.ExpiresIn},
		{AnnotationExpiresAt, &e.ExpiresAt}, {AnnotationCluster, nil}, {AnnotationRenews, &e.Renews},
		{AnnotationRenewal, &e.RenewalNumber}, {AnnotationRequestedBy, &e.RequestedBy},
		{AnnotationApprovedBy, &e.ApprovedBy}, {AnnotationPullRequest, &e.PullRequest}, {AnnotationMergeCommit, nil},
		{AnnotationRecordedFrom, nil}, {AnnotationSignedAt, &e.SignedAt}}
}

type annotation struct {
	key  string
	into *Statement
}

// Annotations returns the keys of every annotation of polex, first the eight that authors write.
func Annotations() (keys []string) {
	for _, a := range new(Exception).annotations() {
		keys = append(keys, a.key)
	}
	return keys
}

// Clusters returns the names and patterns of the clusters that accept the document, or nil if all do.
// In a pattern, * is any text and ? is one character.
func (d *Document) Clusters() (names []string) {
	stated := d.Annotation(AnnotationCluster)
	for name := range strings.SplitSeq(stated, ",") {
		if stated != "" {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

// say reads a statement from its field, if the group has one and it is set, otherwise from the
// annotation.
func (e *Exception) say(d *Document, annotation string) Statement {
	annotated := d.Statement("metadata", "annotations", annotation)
	path, isField := StatementPath(e.Identity.GroupKind, annotation)
	if !isField || annotated.Other != "" {
		return annotated
	}
	field := d.Statement(path...)
	if field.Text == "" && field.Other == "" {
		return annotated
	}
	// pkg/lifetime rejects two expiries
	if annotated.Text != "" && field.Text != "" && annotated.Text != field.Text && annotation != AnnotationExpiresAt {
		e.Conflicts = append(e.Conflicts, Conflict{Native: field, Annotation: annotated})
	}
	return field
}

// Statement returns the statement at a path. A value that is not a text, or an empty one, sets
// Other: its author may have wanted to state something.
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
		s.Other = map[nodeKind]string{scalarNode: "null", mappingNode: mappingInWords, sequenceNode: "a list"}[at.kind]
	}
	return s
}
