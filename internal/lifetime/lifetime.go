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

// Lifetime is the lifetime that an exception states. A time that it does not state is
// zero: a stated time is after 1970.
type Lifetime struct {
	StartsAt  time.Time
	ExpiresAt time.Time     // the exception does not count from this moment on
	ExpiresIn time.Duration // signing turns it into ExpiresAt
	SignedAt  time.Time     // stated by the signer; by anybody where nothing is signed

	// End is the statement of ExpiresAt: of several, the earliest. It has a text and no path
	// where [Terms.Grandfathered] sets the time.
	End exception.Statement
}

// Error says which statement about a lifetime is invalid, and where it is.
type Error struct {
	Path    exception.Path
	Message string
	Hint    string
}

// Error returns the path and the message.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Message) }

// Of reads the lifetime of a document. An exception can state an expiry in several places,
// those of [Places]; the earliest counts, but polex's annotation and Kyverno's field have to
// agree. A document of another kind states it in polex's
// annotation alone. A statement that is not a text or not an absolute time, or a start that
// is not before the end, is an *[Error]. An absent expiry is not: the caller decides
// whether one is required.
func Of(d *exception.Document, terms Terms) (Lifetime, error) {
	var l Lifetime
	said := func(key string) exception.Statement { return d.Statement("metadata", "annotations", key) }
	var err error
	if l.StartsAt, err = parseTime(said(exception.AnnotationStartsAt), exception.ParseTime); err != nil {
		return Lifetime{}, err
	}
	if l.SignedAt, err = parseTime(said(exception.AnnotationSignedAt), exception.ParseTime); err != nil {
		return Lifetime{}, err
	}
	if in := said(exception.AnnotationExpiresIn); in.Text != "" || in.Other != "" {
		if err := checkText(in); err != nil {
			return Lifetime{}, err
		}
		if l.ExpiresIn, err = ParseDuration(in.Text); err != nil {
			return Lifetime{}, &Error{Path: in.Path, Message: err.Error()}
		}
	}
	native, isField := exception.StatementPath(d.GroupKind(), exception.AnnotationExpiresAt)
	if own, field := said(exception.AnnotationExpiresAt), d.Statement(native...); isField && own.Text != "" && field.Text != "" && own.Text != field.Text {
		return Lifetime{}, &Error{Path: own.Path, Message: fmt.Sprintf("the expiry %q contradicts %s, which says %q", own.Text, field.Path, field.Text), Hint: "keep one of the two"}
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
		return Lifetime{}, &Error{Path: said(exception.AnnotationStartsAt).Path, Message: "it starts when it has already expired"}
	}
	return l, nil
}

// place is where an exception may state its expiry, and in which form.
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

// Places are where a document of a kind may state its expiry.
func Places(kind exception.GroupKind, terms Terms) []exception.Path {
	var paths []exception.Path
	for _, place := range places(kind, terms) {
		paths = append(paths, place.path)
	}
	return paths
}

// ContentDigest returns "sha256:" and the hexadecimal SHA-256 of a document's content: its
// JSON with sorted keys and without white space, without the annotations of a signature,
// the record of the review and the time of signing. The record is written before an exception
// is signed, so it must not change the digest that the reviewers saw.
func ContentDigest(d *exception.Document) string {
	object := d.Object()
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	maps.DeleteFunc(annotations, func(key string, _ any) bool { return strings.HasPrefix(key, "cosign.sigstore.dev/") })
	for _, path := range append(exception.RecordPaths(d.GroupKind()), exception.Path{"metadata", "annotations", exception.AnnotationSignedAt}) {
		path.Remove(object)
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return "" // a parsed document has JSON's types alone; no policy lists ""
	}
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// grandfathered returns when the trust policy ends an exception that states no expiry.
func grandfathered(d *exception.Document, terms Terms) time.Time {
	if len(terms.Grandfathered) == 0 || !d.GroupKind().IsException() {
		return time.Time{}
	}
	return terms.Grandfathered[ContentDigest(d)]
}

// ParseDay reads an RFC 3339 time, or a date, which stands for its first second in UTC.
func ParseDay(text string) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil && day.Unix() > 0 {
		return day, nil
	}
	return exception.ParseTime(text)
}

// parseTime returns zero where nothing is stated.
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

// checkText refuses a statement that is not a text: to ignore it would turn a stated end
// into none.
func checkText(s exception.Statement) error {
	if s.Other == "" {
		return nil
	}
	return &Error{Path: s.Path, Message: fmt.Sprintf("it is %s, and a text is expected", s.Other), Hint: "write it in quotes, or remove it"}
}
