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
	"github.com/polex-dev/polex/pkg/shape"
)

// ofOneSigning are the annotations about one signature. They are not part of the exemption.
var ofOneSigning = []string{exception.AnnotationExpiresAt, exception.AnnotationExpiresIn, exception.AnnotationStartsAt,
	exception.AnnotationRequestedBy, exception.AnnotationApprovedBy, exception.AnnotationPullRequest,
	exception.AnnotationMergeCommit, exception.AnnotationRecordedFrom, exception.AnnotationSignedAt}

// Renew drafts the successor of a signed exception. The successor exempts the same for
// statements.ExpiresIn from its own signature, and names its predecessor by the digest of the
// signed content. Other statements, if set, replace those of the predecessor. An unsigned or
// modified document is a problem. The caller must verify the signer. What delivery tools write or obey is left out,
// as the checks of a request refuse it.
func Renew(signed *exception.Document, statements Statements, config *shape.Config) (*Draft, *Problem) {
	refuse := func(hint, format string, args ...any) (*Draft, *Problem) {
		return nil, problem(ReasonNotRenewable, Violation{}, hint, format, args...)
	}
	before, err := renewal.Read(signed)
	switch {
	case errors.Is(err, seal.ErrUnsigned):
		return refuse("change the pending request instead", "it has never been signed")
	case err != nil:
		return refuse("", "%s", err)
	}
	if differences := seal.Compare(signed, before.Message, 1); len(differences) > 0 {
		return refuse("", "%s differs from its signed content", differences[0].Path)
	}
	if before.Number >= exception.MaxRenewals {
		return refuse("request a new exception", "it has been renewed %d times", before.Number)
	}
	object := before.Message.Object()
	kind := before.Identity.GroupKind
	for _, key := range ofOneSigning {
		exception.Path{"metadata", "annotations", key}.Remove(object)
		path, _ := exception.StatementPath(kind, key)
		path.Remove(object)
	}
	for _, path := range lifetime.Places(kind, config.Rules.Terms) {
		path.Remove(object)
	}
	notes := shape.DropMetadata(object, config.Allowed)
	statements.write(object, kind)
	for annotation, text := range map[string]string{
		exception.AnnotationRenews: before.Named, exception.AnnotationRenewal: strconv.Itoa(before.Number + 1),
	} {
		exception.Path{"metadata", "annotations", annotation}.Set(object, text)
	}
	exception.Path{"metadata", "name"}.Set(object, successor(before.Identity.Name, before.Number))
	draft, err := draftOf(object)
	if err != nil {
		return refuse("", "%s", err)
	}
	draft.Notes = notes
	draft.Words = fmt.Sprintf("renews %s: exempts the same for another %s, once it is signed",
		before.Identity, statements.ExpiresIn)
	return draft, nil
}

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
