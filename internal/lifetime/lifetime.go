package lifetime

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// Lifetime is what an exception says of its own life. What it does not say is
// zero: a time that it says is after 1970.
type Lifetime struct {
	StartsAt  time.Time
	ExpiresAt time.Time     // the moment from which it no longer counts
	ExpiresIn time.Duration // asked for; signing turns it into ExpiresAt
	SignedAt  time.Time     // the signer's word; anybody's where nothing is signed
}

// Error says what is wrong with a statement about a lifetime, and where.
type Error struct {
	Path    exception.Path
	Message string
	Hint    string
}

// Error returns the path and the message.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Message) }

// Of reads an exception's lifetime. A time or duration that cannot be read or is no
// text, two places that disagree, Kyverno's label among them, or a start that is not
// before the end is an *[Error]. An absent expiry is not: whether one is needed is the
// caller's to say.
func Of(e *exception.Exception) (Lifetime, error) {
	var l Lifetime
	for _, c := range e.Conflicts {
		if c.Annotation.Path[len(c.Annotation.Path)-1] == exception.AnnotationExpiresAt {
			return l, &Error{Path: c.Annotation.Path,
				Message: fmt.Sprintf("the expiry %q contradicts %s, which says %q", c.Annotation.Text, c.Native.Path, c.Native.Text),
				Hint:    "keep one of the two"}
		}
	}
	var err error
	if l.StartsAt, err = parseTime(e.StartsAt); err != nil {
		return Lifetime{}, err
	}
	if l.ExpiresAt, err = parseTime(e.ExpiresAt); err != nil {
		return Lifetime{}, err
	}
	if l.SignedAt, err = parseTime(e.SignedAt); err != nil {
		return Lifetime{}, err
	}
	if err := checkText(e.ExpiresIn); err != nil {
		return Lifetime{}, err
	}
	if e.ExpiresIn.Text != "" {
		if l.ExpiresIn, err = ParseDuration(e.ExpiresIn.Text); err != nil {
			return Lifetime{}, &Error{Path: e.ExpiresIn.Path, Message: err.Error()}
		}
	}
	if !l.StartsAt.IsZero() && !l.ExpiresAt.IsZero() && !l.StartsAt.Before(l.ExpiresAt) {
		return Lifetime{}, &Error{Path: e.StartsAt.Path, Message: "it starts when it has already expired"}
	}
	if err := checkTTL(e, l); err != nil {
		return Lifetime{}, err
	}
	return l, nil
}

// parseTime returns zero for what is not said.
func parseTime(s exception.Statement) (time.Time, error) {
	if err := checkText(s); err != nil || s.Text == "" {
		return time.Time{}, err
	}
	t, err := exception.ParseTime(s.Text)
	if err != nil {
		return time.Time{}, &Error{Path: s.Path, Message: err.Error(), Hint: timeHint}
	}
	return t, nil
}

const timeHint = "write it like 2026-12-31T17:00:00Z"

// checkText refuses a statement that is no text. To pass over it would be to take
// an end that somebody wrote for none.
func checkText(s exception.Statement) error {
	if s.Other == "" {
		return nil
	}
	return &Error{Path: s.Path, Message: fmt.Sprintf("it is %s, and a text is expected", s.Other), Hint: "write it in quotes, or remove it"}
}

// OfDocument reads the lifetime of a document of any kind. What is no
// PolicyException says it in the annotations alone.
func OfDocument(d *exception.Document) (Lifetime, error) {
	if e, ok := d.Exception(); ok {
		return Of(e)
	}
	said := func(key string) exception.Statement { return d.Statement("metadata", "annotations", key) }
	return Of(&exception.Exception{
		Identity:  d.Identity(),
		StartsAt:  said(exception.AnnotationStartsAt),
		ExpiresIn: said(exception.AnnotationExpiresIn),
		ExpiresAt: said(exception.AnnotationExpiresAt),
		SignedAt:  said(exception.AnnotationSignedAt),
	})
}
