package shape

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// Bounds for one exception: how many others it is held against, how much work
// that may be, and how many overlaps are said. In a set where thousands overlap,
// not each pair has to be told.
const (
	maxCompared     = 100
	maxOverlapSteps = 200_000
	maxOverlaps     = 5
)

// overlaps finds exceptions of a set that exempt the same resource from the same
// policy, and for kyverno.io from the same rule. When one of them is withdrawn or
// ends, the other goes on exempting, and nobody will think of it. It is only
// said with an example in hand: where the matches are too intricate to find one,
// nothing is.
func (s *Set) overlaps(d *exception.Document, c *claim) []Finding {
	var found []Finding
	work, compared := &meter{left: maxOverlapSteps}, 0
	met := map[*claim]bool{}
	for i, ref := range c.policies {
		of := s.claims[refKey(c.id.Group, ref)]
		if of == nil {
			continue
		}
		for _, list := range of.near(c) {
			for _, other := range list {
				if compared == maxCompared || len(found) == maxOverlaps || work.spent() {
					return found
				}
				if met[other] || other.id == c.id || other.ended(s.now) {
					continue
				}
				compared++
				what := sharedRule(work, ref, other)
				example, meet := "", false
				if what != "" {
					example, meet = s.meeting(work, c, other)
				}
				if !meet {
					continue
				}
				met[other] = true
				path := c.policies[i].Path
				found = append(found, Finding{
					Reason: ReasonOverlaps, Severity: Warning, Path: path, Position: d.PositionOf(path),
					Message: fmt.Sprintf("%q at %s already excepts from %s%s", other.id.String(), other.at, what, example),
					Hint:    "leave one of the two, or make them apart: when one ends, the other still exempts",
				})
			}
		}
	}
	return found
}

// ended reports whether an exception is over, so that nothing is said of what
// nobody has taken out yet.
func (c *claim) ended(now time.Time) bool {
	return !now.IsZero() && !c.ends.IsZero() && !c.ends.After(now)
}

// sharedRule says what both exceptions are from, or "".
func sharedRule(work *meter, ref exception.PolicyRef, other *claim) string {
	for _, theirs := range other.policies {
		if theirs.Name != ref.Name || theirs.Kind != ref.Kind {
			continue
		}
		if other.id.Group == exception.PoliciesGroup {
			return fmt.Sprintf("the policy %q", ref.Name)
		}
		for _, a := range ref.Rules {
			for _, b := range theirs.Rules {
				if rule, both := work.common(a, b); both {
					return fmt.Sprintf("the rule %q of the policy %q", rule, ref.Name)
				}
			}
			if work.spent() {
				return ""
			}
		}
	}
	return ""
}

// meeting reports whether there is a resource that both exceptions are for, and
// says which.
func (s *Set) meeting(work *meter, a, b *claim) (example string, meet bool) {
	if a.restraint != b.restraint || a.controls != b.controls && a.controls != "" && b.controls != "" {
		return "", false
	}
	if a.id.Group == exception.PoliciesGroup {
		// Conditions are joined by "and": whatever meets the longer list meets
		// the shorter too.
		if within(a.conditions, b.conditions) || within(b.conditions, a.conditions) {
			return " under the same conditions", true
		}
	}
	if r := s.witness(work, a, b); r != nil {
		return fmt.Sprintf(" for the same resources, such as %q", r.describe()), true
	}
	return "", false
}

func (s *Set) witness(work *meter, a, b *claim) *resource {
	if a.id.Group == exception.PoliciesGroup {
		return s.reader.witness(a, b)
	}
	return witness(work, a.block, b.block)
}

// within reports whether the texts of one sorted list, which has some, are all
// in another.
func within(few, many []string) bool {
	at := 0
	for _, text := range many {
		if at < len(few) && few[at] == text {
			at++
		}
	}
	return at == len(few) && at > 0
}
