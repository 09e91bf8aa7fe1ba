package lifetime

import (
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// Resolve returns what has to be added to an exception so that a duration it
// asks for becomes a time: signedAt plus the duration, in UTC, to the second.
// Asking for a duration while an expiry is set already is an *[Error], for it
// is not clear which of the two was approved.
func Resolve(e *exception.Exception, signedAt time.Time) ([]exception.Addition, error) {
	l, err := Of(e)
	if err != nil || l.ExpiresIn == 0 {
		return nil, err
	}
	if !l.ExpiresAt.IsZero() {
		return nil, &Error{Path: e.ExpiresIn.Path,
			Message: "both a duration and a time of expiry are set, and only one can have been approved",
			Hint:    "remove " + e.ExpiresAt.Path.String() + " to let the duration count from the signing"}
	}
	expiry := signedAt.Add(l.ExpiresIn).UTC().Truncate(time.Second)
	if !l.StartsAt.IsZero() && !l.StartsAt.Before(expiry) {
		return nil, &Error{Path: e.StartsAt.Path, Message: "it would have expired before it starts"}
	}
	path := exception.Path{"metadata", "annotations", exception.AnnotationExpiresAt}
	if e.Identity.Group == exception.PoliciesGroup {
		path = exception.Path{"spec", "expiresAt"}
	}
	return []exception.Addition{{Path: path, Value: expiry.Format(time.RFC3339)}}, nil
}
