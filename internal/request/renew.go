package request

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/promotion/renewal"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/seal"
)

// ofOneSigning are the annotations about one signature. They are not part of the exemption.
var ofOneSigning = []string{exception.AnnotationExpiresAt, exception.AnnotationExpiresIn, exception.AnnotationStartsAt,
	exception.AnnotationRequestedBy, exception.AnnotationApprovedBy, exception.AnnotationPullRequest,
	exception.AnnotationMergeCommit, exception.AnnotationRecordedFrom, exception.AnnotationSignedAt}

// Renew drafts the successor of a signed exception. The successor exempts the same for
// statements.ExpiresIn from its own signature, and names its predecessor by the digest of the
// signed content. Other statements, if set, replace those of the predecessor. An unsigned or
// modified document is a *[NotRenewableError]. The caller must verify the signer.
func Renew(signed *exception.Document, statements Statements, terms lifetime.Terms) (*Draft, error) {
	before, err := renewal.Read(signed)
	if errors.Is(err, seal.ErrUnsigned) {
		return nil, &NotRenewableError{Message: "it has never been signed", Hint: "change the pending request instead"}
	}
	if err != nil {
		return nil, &NotRenewableError{Message: err.Error()}
	}
	if differences := seal.Compare(signed, before.Message, 1); len(differences) > 0 {
		return nil, &NotRenewableError{Message: fmt.Sprintf("%s differs from its signed content", differences[0].Path)}
	}
	if before.Number >= exception.MaxRenewals {
		return nil, &NotRenewableError{Message: fmt.Sprintf("it has been renewed %d times", before.Number),
			Hint: "request a new exception"}
	}
	object := before.Message.Object()
	kind := before.Identity.GroupKind
	for _, key := range ofOneSigning {
		exception.Path{"metadata", "annotations", key}.Remove(object)
		path, _ := exception.StatementPath(kind, key)
		path.Remove(object)
	}
	for _, path := range lifetime.Places(kind, terms) {
		path.Remove(object)
	}
	statements.write(object, kind)
	put(object, exception.Path{"metadata", "annotations", exception.AnnotationRenews}, before.Named)
	put(object, exception.Path{"metadata", "annotations", exception.AnnotationRenewal}, strconv.Itoa(before.Number+1))
	put(object, exception.Path{"metadata", "name"}, successor(before.Identity.Name, before.Number))
	draft, err := draftOf(object)
	if err != nil {
		return nil, &NotRenewableError{Message: err.Error()}
	}
	draft.Words = fmt.Sprintf("renews %s: exempts the same for another %s, once it is signed",
		before.Identity, statements.ExpiresIn)
	return draft, nil
}

// NotRenewableError means that an exception cannot be renewed.
type NotRenewableError struct{ Message, Hint string }

// Error returns the message.
func (e *NotRenewableError) Error() string { return e.Message }

// successor returns the name of the next renewal.
func successor(name string, number int) string {
	if number > 0 {
		name = strings.TrimSuffix(name, "-r"+strconv.Itoa(number))
	}
	const longest = 253 - len("-r999")
	return name[:min(len(name), longest)] + "-r" + strconv.Itoa(number+1)
}

// Live reports whether a signed exception has not expired. A draft of its name would replace it.
func Live(signed *exception.Document, terms lifetime.Terms, now time.Time) bool {
	life, err := lifetime.Of(signed, terms)
	return err == nil && (life.ExpiresAt.IsZero() || now.Before(life.ExpiresAt))
}

// child returns a mapping below another, or an empty one.
func child(object map[string]any, key string) map[string]any {
	below, _ := object[key].(map[string]any)
	if below == nil {
		below = map[string]any{}
	}
	return below
}
