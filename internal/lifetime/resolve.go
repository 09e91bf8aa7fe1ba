package lifetime

import (
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// Resolve returns the fields that signing adds to an exception. A duration becomes the time
// signedAt plus the duration, in UTC, to the second; the end of a grandfathered exception is
// written into it. With ttlLabel, an exception of kyverno.io gets its end as a label too, by
// which Kyverno's cleanup controller deletes it; those of policies.kyverno.io have a field
// that Kyverno obeys. A duration beside an expiry is an *[Error]: it is not clear which of
// the two was approved.
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
			return nil, &Error{Path: exception.Path{"metadata", "annotations", exception.AnnotationStartsAt}, Message: "it would have expired before it starts"}
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
