package adopt

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/go-openapi/strfmt"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
)

// limited gives each exception its expiry and refuses expired ones.
func (a *adoption) limited(all []*candidate) (left []*candidate) {
	var open []*candidate
	for _, c := range all {
		if problem := a.state(c); problem != nil {
			a.plan.refuse(c, *problem)
			continue
		}
		if left = append(left, c); !c.Stated {
			c.Notes = append(c.Notes, unlisted(c.object, a.Configured)...)
			open = append(open, c)
		}
	}
	first, last := a.First, a.Last
	if most := a.Shape.Rules.Longest; a.Configured && most > 0 && last > most && len(open) > 0 {
		a.plan.note(configName, fmt.Sprintf("trust.maxLifetime is %s, so the last expiry is not %s from now",
			lifetime.FormatDuration(most), lifetime.FormatDuration(last)))
		first, last = min(first, most), most
	}
	for n, end := range spread(len(open), a.Now, first, last) {
		open[n].expire(end)
	}
	return left
}

// expire writes the expiry of an exception.
func (c *candidate) expire(at time.Time) {
	c.ExpiresAt = at.UTC().Truncate(time.Second)
	path, _ := exception.StatementPath(c.id.GroupKind, exception.AnnotationExpiresAt)
	path.Set(c.object, c.ExpiresAt.Format(time.RFC3339))
}

// state reads the stated expiry of an exception, and returns a problem if it has passed or cannot be read. It
// converts Kyverno's relative label to a time, because that label starts again with each new object.
func (a *adoption) state(c *candidate) *Problem {
	ttl, _ := mapping(c.object, "metadata", "labels")[exception.LabelTTL].(string)
	length, err := strfmt.ParseDuration(ttl) // as Kyverno does
	relative := err == nil && length > 0
	if relative {
		exception.Path{"metadata", "labels", exception.LabelTTL}.Remove(c.object)
		c.Notes = append(c.Notes, fmt.Sprintf("the label %s=%s, which counts from the creation of the object, is "+
			"removed", exception.LabelTTL, ttl))
	}
	doc, _ := exception.FromObject(c.object) //nolint:errcheck // its values were read from a document
	life, err := lifetime.Of(doc, a.Shape.Rules.Terms)
	switch {
	case err != nil:
		bad := &lifetime.Error{}
		errors.As(err, &bad)
		return &Problem{Reason: ReasonLifetime, Message: err.Error(), Hint: bad.Hint}
	case !life.ExpiresAt.IsZero():
		c.ExpiresAt = life.ExpiresAt
	case life.ExpiresIn > 0:
		c.ExpiresAt = a.Now.Add(life.ExpiresIn)
	case relative:
		c.expire(a.Now.Add(length))
	default:
		return nil
	}
	if c.Stated = true; !c.ExpiresAt.After(a.Now) {
		return &Problem{Reason: ReasonExpired, Message: "it expired at " + c.ExpiresAt.UTC().Format(time.RFC3339),
			Hint: "remove it, or request it again: polex request"}
	}
	return nil
}

// longest returns the time until the last expiry, rounded up to whole days.
func (a *adoption) longest(all []*candidate) time.Duration {
	longest := a.Last
	for _, c := range all {
		longest = max(longest, c.ExpiresAt.Sub(a.Now))
	}
	return (longest + 24*time.Hour - 1).Truncate(24 * time.Hour)
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
			value, _ := of[name].(string)
			if _, err := lifetime.ParseDay(value); err != nil || !endKey.MatchString(name) {
				continue
			}
			how := "add --expiry-key " + name
			if lifetime.CheckKey(name) != nil {
				how = "write it under a key of your own"
			} else if configured {
				how = fmt.Sprintf("list %s under trust.expiryKeys in %s first", name, configName)
			}
			notes = append(notes, fmt.Sprintf("%s: %q is not read as its expiry; to use it, %s", name, value, how))
		}
	}
	return notes
}

// spread returns n expiries evenly between two durations from now, each at 12:00 UTC on a weekday.
// None is later than last.
func spread(n int, now time.Time, first, last time.Duration) []time.Time {
	ends := make([]time.Time, n)
	step := (last - first) / time.Duration(max(n-1, 1))
	for i := range ends {
		end := now.Add(first + step*time.Duration(i)).UTC()
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
