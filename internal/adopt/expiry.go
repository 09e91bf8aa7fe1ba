package adopt

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/go-openapi/strfmt"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
)

// expiry returns the stated expiry of an exception, or zero if there is none. It converts Kyverno's
// relative label to a time, because that label starts again with each new object.
func expiry(object map[string]any, terms lifetime.Terms, now time.Time) (end time.Time, note string, err error) {
	labels := mapping(object, "metadata", "labels")
	ttl, _ := labels[exception.LabelTTL].(string)
	length, invalid := strfmt.ParseDuration(ttl) // as Kyverno does
	relative := invalid == nil && length > 0
	if relative {
		if delete(labels, exception.LabelTTL); len(labels) == 0 {
			delete(mapping(object, "metadata"), "labels")
		}
		note = fmt.Sprintf("the label %s=%s, which counts from the creation of the object, is removed",
			exception.LabelTTL,
			ttl)
	}
	life, err := lifetimeOf(object, terms)
	if err == nil && relative && life.ExpiresAt.IsZero() && life.ExpiresIn == 0 {
		path, _ := exception.StatementPath(groupKind(object), exception.AnnotationExpiresAt)
		path.Set(object, now.Add(length).UTC().Truncate(time.Second).Format(time.RFC3339))
		life, err = lifetimeOf(object, terms)
	}
	if err != nil {
		return time.Time{}, "", err
	}
	if life.ExpiresAt.IsZero() && life.ExpiresIn > 0 {
		return now.Add(life.ExpiresIn), note, nil
	}
	return life.ExpiresAt, note, nil
}

func lifetimeOf(object map[string]any, terms lifetime.Terms) (lifetime.Lifetime, error) {
	doc, err := exception.FromObject(object)
	if err != nil {
		return lifetime.Lifetime{}, err
	}
	return lifetime.Of(doc, terms)
}

// endKey matches the last part of keys under which teams state an expiry.
var endKey = regexp.MustCompile(
	`(?i)(^|[/._-])(expir(es|y|ation)([-_]?(at|on|date))?|(valid[-_]?)?until|review[-_]?(by|date))$`)

// unlisted returns notes about labels and annotations that look like an expiry but have a key that
// the trust policy does not list. They do not count.
func unlisted(object map[string]any, configured bool) (notes []string) {
	for _, field := range []string{"annotations", "labels"} {
		of := mapping(object, "metadata", field)
		for _, name := range slices.Sorted(maps.Keys(of)) {
			said, _ := of[name].(string)
			if _, err := lifetime.ParseDay(said); err == nil && endKey.MatchString(name) {
				how := "add --expiry-key " + name
				if lifetime.CheckKey(name) != nil {
					how = "write it under a key of your own"
				} else if configured {
					how = fmt.Sprintf("list %s under trust.expiryKeys in %s first", name, configName)
				}
				notes = append(notes, fmt.Sprintf("%s: %q is not read as its expiry; to use it, %s", name, said, how))
			}
		}
	}
	return notes
}

// spread returns n expiries evenly between two durations from now, each at 12:00 UTC on a weekday.
// None is later than last.
func spread(n int, now time.Time, first, last time.Duration) []time.Time {
	ends := make([]time.Time, n)
	for i := range ends {
		after := first
		if n > 1 {
			after += time.Duration(float64(last-first) * float64(i) / float64(n-1))
		}
		end := now.Add(after).UTC()
		ends[i] = weekday(end, 0)
		if later := weekday(end, 1); ends[i].Before(now.Add(first)) && !later.After(now.Add(last)) {
			ends[i] = later
		}
	}
	return ends
}

// weekday returns 12:00 UTC of the nearest weekday: with later = 0 not after t, with later = 1 not
// before t.
func weekday(t time.Time, later int) time.Time {
	noon := time.Date(t.Year(), t.Month(), t.Day(), 12, 0, 0, 0, time.UTC)
	for later == 0 && noon.After(t) || later == 1 && noon.Before(t) || noon.Weekday() == time.Saturday ||
		noon.Weekday() == time.Sunday {
		noon = noon.AddDate(0, 0, 2*later-1)
	}
	return noon
}
