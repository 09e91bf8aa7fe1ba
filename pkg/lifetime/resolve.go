package lifetime

import (
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

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
