package lifetime

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// Lifetime contains the times that an exception states. A missing time is zero; stated times are
// after 1970.
type Lifetime struct {
	StartsAt  time.Time
	ExpiresAt time.Time     // the exception is invalid from this moment on
	ExpiresIn time.Duration // signing turns it into ExpiresAt
	SignedAt  time.Time     // stated by the signer, or by anybody in an unsigned document

	// End is the statement of ExpiresAt, the earliest of several. It has a text and no path if
	// [Terms.Grandfathered] sets the time.
	End exception.Statement
}

// Error describes an invalid statement about a lifetime.
type Error struct {
	Path    exception.Path
	Message string
	Hint    string
}

// Error returns the path and the message.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Message) }

// Of returns the lifetime of a document. An exception can state its expiry in the [Places]. The
// earliest counts, but polex's annotation and Kyverno's field must be equal. Other documents can
// state it only in polex's annotation. A statement that is not a text or an absolute time is an
// *[Error], and so is a start that is not before the expiry. A missing expiry is not: the caller
// decides whether it requires one.
func Of(d *exception.Document, terms Terms) (Lifetime, error) {
	var l Lifetime
	annotation := func(key string) exception.Statement { return d.Statement("metadata", "annotations", key) }
	var err error
	if l.StartsAt, err = parseTime(annotation(exception.AnnotationStartsAt), exception.ParseTime); err != nil {
		return Lifetime{}, err
	}
	if l.SignedAt, err = parseTime(annotation(exception.AnnotationSignedAt), exception.ParseTime); err != nil {
		return Lifetime{}, err
	}
	if in := annotation(exception.AnnotationExpiresIn); in.Text != "" || in.Other != "" {
		if err := checkText(in); err != nil {
			return Lifetime{}, err
		}
		if l.ExpiresIn, err = ParseDuration(in.Text); err != nil {
			return Lifetime{}, &Error{Path: in.Path, Message: err.Error()}
		}
	}
	native, isField := exception.StatementPath(d.GroupKind(), exception.AnnotationExpiresAt)
	if own, field := annotation(exception.AnnotationExpiresAt), d.Statement(native...); isField && own.Text != "" &&
		field.Text != "" && own.Text != field.Text {
		return Lifetime{}, &Error{Path: own.Path, Message: fmt.Sprintf("the expiry %q contradicts %s, which says %q",
			own.Text, field.Path, field.Text), Hint: "keep one of the two"}
	}
	for _, place := range places(d.GroupKind(), terms) {
		end := d.Statement(place.path...)
		at, err := place.read(end)
		if err != nil {
			return Lifetime{}, err
		}
		if !at.IsZero() && (l.ExpiresAt.IsZero() || at.Before(l.ExpiresAt)) {
			l.ExpiresAt, l.End = at, end
		}
	}
	if l.ExpiresAt.IsZero() && l.ExpiresIn == 0 {
		if until := grandfathered(d, terms); !until.IsZero() {
			l.ExpiresAt, l.End = until, exception.Statement{Text: until.UTC().Format(time.RFC3339)}
		}
	}
	if !l.StartsAt.IsZero() && !l.ExpiresAt.IsZero() && !l.StartsAt.Before(l.ExpiresAt) {
		return Lifetime{}, &Error{Path: annotation(exception.AnnotationStartsAt).Path,
			Message: "it starts when it has already expired"}
	}
	return l, nil
}

// place is a path where an exception may state its expiry, and the parser for it.
type place struct {
	path exception.Path
	read func(exception.Statement) (time.Time, error)
}

func places(kind exception.GroupKind, terms Terms) []place {
	absolute := func(s exception.Statement) (time.Time, error) { return parseTime(s, exception.ParseTime) }
	all := []place{{exception.Path{"metadata", "annotations", exception.AnnotationExpiresAt}, absolute}}
	if !kind.IsException() {
		return all
	}
	if path, isField := exception.StatementPath(kind, exception.AnnotationExpiresAt); isField {
		all = append(all, place{path, absolute})
	}
	all = append(all, place{exception.Path{"metadata", "labels", exception.LabelTTL}, parseTTL})
	mapped := func(s exception.Statement) (time.Time, error) { return parseTime(s, ParseDay) }
	for _, key := range terms.Keys {
		for _, path := range exception.KeyPaths(kind, key) {
			all = append(all, place{path, mapped})
		}
	}
	return all
}

// Places returns the paths where a document of a kind may state its expiry.
func Places(kind exception.GroupKind, terms Terms) []exception.Path {
	var paths []exception.Path
	for _, place := range places(kind, terms) {
		paths = append(paths, place.path)
	}
	return paths
}

// ContentDigest returns "sha256:" and the hexadecimal SHA-256 of a document: JSON with sorted keys,
// without white space, signature annotations, review record and signing time. The record is written
// before the signature, and must not change the digest that the reviewers saw.
func ContentDigest(d *exception.Document) string {
	object := d.Object()
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	maps.DeleteFunc(annotations, func(key string, _ any) bool { return strings.HasPrefix(key, "cosign.sigstore.dev/") })
	for _, path := range append(exception.RecordPaths(d.GroupKind()),
		exception.Path{"metadata", "annotations", exception.AnnotationSignedAt}) {
		path.Remove(object)
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return "" // a parsed document has only JSON types; no policy lists ""
	}
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// grandfathered returns the expiry that the trust policy gives to an exception without one.
func grandfathered(d *exception.Document, terms Terms) time.Time {
	if len(terms.Grandfathered) == 0 || !d.GroupKind().IsException() {
		return time.Time{} // without this, an empty list costs a digest, and policies list exceptions only
	}
	return terms.Grandfathered[ContentDigest(d)]
}

// ParseDay parses an RFC 3339 time, or a date, which means its first second in UTC.
func ParseDay(text string) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil && day.Unix() > 0 {
		return day, nil
	}
	return exception.ParseTime(text)
}

// parseTime returns zero for an empty statement.
func parseTime(s exception.Statement, parse func(string) (time.Time, error)) (time.Time, error) {
	if err := checkText(s); err != nil || s.Text == "" {
		return time.Time{}, err
	}
	t, err := parse(s.Text)
	if err != nil {
		return time.Time{}, &Error{Path: s.Path, Message: err.Error(), Hint: timeHint}
	}
	return t, nil
}

const timeHint = "write it like 2026-12-31T17:00:00Z"

// checkText rejects a statement that is not a text. If it were ignored, a stated expiry would have
// no effect.
func checkText(s exception.Statement) error {
	if s.Other == "" {
		return nil
	}
	return &Error{Path: s.Path, Message: fmt.Sprintf("it is %s, expected a text", s.Other),
		Hint: "write it in quotes, or remove it"}
}

// Resolve returns the fields that signing adds to an exception. A duration becomes the time
// signedAt plus the duration, in UTC and whole seconds. The expiry of a grandfathered exception is
// added to it. With ttlLabel, a kyverno.io exception also gets its expiry as the label for
// Kyverno's cleanup controller; policies.kyverno.io has a field for this. A duration together with
// an expiry is an *[Error], because it is not clear which of them was approved.
func Resolve(d *exception.Document, signedAt time.Time, ttlLabel bool, terms Terms) ([]exception.Addition, error) {
	l, err := Of(d, terms)
	if err != nil {
		return nil, err
	}
	path, isField := exception.StatementPath(d.GroupKind(), exception.AnnotationExpiresAt)
	in := d.Statement("metadata", "annotations", exception.AnnotationExpiresIn)
	var additions []exception.Addition
	switch {
	case l.ExpiresIn != 0 && !l.ExpiresAt.IsZero():
		return nil, &Error{Path: in.Path,
			Message: "both a duration and a time of expiry are set, and only one can have been approved",
			Hint:    "remove " + l.End.Path.String() + " to let the duration count from the signing"}
	case l.ExpiresIn != 0:
		l.ExpiresAt = signedAt.Add(l.ExpiresIn).UTC().Truncate(time.Second)
		if !l.StartsAt.IsZero() && !l.StartsAt.Before(l.ExpiresAt) {
			return nil, &Error{Path: exception.Path{"metadata", "annotations", exception.AnnotationStartsAt},
				Message: "it would have expired before it starts"}
		}
		additions = append(additions, exception.Addition{Path: path, Value: l.ExpiresAt.Format(time.RFC3339)})
	case !l.ExpiresAt.IsZero() && len(l.End.Path) == 0:
		additions = append(additions, exception.Addition{Path: path, Value: l.End.Text})
	}
	label := exception.Path{"metadata", "labels", exception.LabelTTL}
	if ttlLabel && !isField && d.Text(label...) == "" && !l.ExpiresAt.IsZero() {
		additions = append(additions, exception.Addition{Path: label, Value: FormatTTL(l.ExpiresAt)})
	}
	return additions, nil
}
