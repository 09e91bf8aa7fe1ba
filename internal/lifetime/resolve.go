package lifetime

import (
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// Resolve returns what has to be added to an exception when it is signed: the time
// that a duration becomes, which is signedAt plus the duration, in UTC, to the
// second. With ttlLabel, an exception of kyverno.io gets its end as a label too, by which
// Kyverno's cleanup controller deletes it; those of policies.kyverno.io have a field
// that Kyverno obeys. Asking for a duration while an expiry is
// set already is an *[Error], for it is not clear which of the two was approved.
func Resolve(e *exception.Exception, signedAt time.Time, ttlLabel bool) ([]exception.Addition, error) {
	l, err := Of(e)
	if err != nil {
		return nil, err
	}
	path, isField := exception.StatementPath(e.Identity.GroupKind, exception.AnnotationExpiresAt)
	var additions []exception.Addition
	if l.ExpiresIn != 0 {
		if !l.ExpiresAt.IsZero() {
			return nil, &Error{Path: e.ExpiresIn.Path,
				Message: "both a duration and a time of expiry are set, and only one can have been approved",
				Hint:    "remove " + e.ExpiresAt.Path.String() + " to let the duration count from the signing"}
		}
		l.ExpiresAt = signedAt.Add(l.ExpiresIn).UTC().Truncate(time.Second)
		if !l.StartsAt.IsZero() && !l.StartsAt.Before(l.ExpiresAt) {
			return nil, &Error{Path: e.StartsAt.Path, Message: "it would have expired before it starts"}
		}
		additions = append(additions, exception.Addition{Path: path, Value: l.ExpiresAt.Format(time.RFC3339)})
	}
	if ttlLabel && !isField && e.TTL.Text == "" && !l.ExpiresAt.IsZero() {
		additions = append(additions, exception.Addition{Path: exception.Path{"metadata", "labels", exception.LabelTTL}, Value: FormatTTL(l.ExpiresAt)})
	}
	return additions, nil
}
