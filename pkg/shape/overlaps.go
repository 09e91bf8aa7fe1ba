package shape

import (
	"fmt"
	"slices"

	"github.com/polex-dev/polex/internal/kyverno/match"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonOverlaps is a reason of findings.
const ReasonOverlaps = "overlaps"

var overlappingCheck = check{
	About: "Finds two exceptions that exempt the same resource from the same policy, and for kyverno.io from the " +
		"same rule. When one of them expires, the other still exempts. A reported overlap is " +
		"always real: it has an example, or one exception has every condition of the other. For conditions that " +
		"are not plain comparisons, polex only finds equal parts. A renewal does not overlap with its predecessor.",
	Reasons: []Reason{{Name: ReasonOverlaps, Doc: "another exception exempts the same resources from the same rule",
		Severity: Warning}},
}

// Bounds for one exception: the number of others it is compared with, the work for that, and the number of reported
// overlaps. In a set where thousands overlap, polex does not report each pair.
const (
	maxCompared     = 100
	maxOverlapSteps = 200_000
	maxOverlaps     = 5
)

// overlaps finds exceptions of a set that exempt the same resource from the same policy or rule. Matches that are too
// intricate for an example are not reported. At the level error, polex-sign refuses to promote an exception that
// overlaps with a signed one that has not expired.
func (s *Set) overlaps(d *exception.Document, m *member) []Finding {
	var found []Finding
	work, compared := &wildcard.Meter{Left: maxOverlapSteps}, 0
	if s.Thorough {
		work = wildcard.NewMeter()
	}
	met := map[int]bool{}
	renewed := predecessor(d, m.id)
	for _, ref := range m.policies {
		for _, list := range s.index.near(m, ref.PolicyKey) {
			for _, number := range list {
				switch {
				case len(found) == maxOverlaps, compared >= maxCompared && !s.Thorough:
					return found
				case work.Spent() && s.Thorough && len(found) == 0:
					return findingIn(d, ReasonOverlaps, ref.path, "list fewer rules, names and namespaces",
						"the comparison with other exceptions from the policy %q took too long and stopped after %d",
						ref.Name, compared)
				case work.Spent():
					return found
				}
				other := s.members[number]
				if met[number] || other.id == m.id || other.id == renewed {
					continue
				}
				compared++
				if what := shares(work, m, ref, other); what != "" {
					met[number] = true
					found = append(found, findingIn(d, ReasonOverlaps, ref.path, "keep one of the two, or change the "+
						"match of one: when one expires, the other still exempts", "%q at %s already exempts from %s",
						other.id.String(), other.at, what)...)
				}
			}
		}
	}
	return found
}

// predecessor returns the exception that a document renews, which exempts the same until it
// expires. Promotion compares the two.
func predecessor(d *exception.Document, id exception.Identity) exception.Identity {
	if e, ok := d.Exception(); ok {
		if stated, err := e.Renewal(); err == nil && stated.Number > 0 {
			id.Name = stated.Name
			return id
		}
	}
	return exception.Identity{}
}

// shares returns the rule or policy that two exceptions both exempt from, for a policy that the
// first names, and the resources; or "".
func shares(work *wildcard.Meter, m *member, ref memberPolicy, other *member) string {
	rule, same := sharedRule(work, ref, other)
	if !same {
		return ""
	}
	example, meet := meeting(work, m, other)
	if !meet {
		return ""
	}
	if !m.byMatch {
		return fmt.Sprintf("the policy %q%s", ref.Name, example)
	}
	return fmt.Sprintf("the rule %q of the policy %q%s", rule, ref.Name, example)
}

// sharedRule reports whether two exceptions are from the same rule of a policy,
// and returns its name; policies.kyverno.io has no rules, and it is "".
func sharedRule(work *wildcard.Meter, ref memberPolicy, other *member) (rule string, same bool) {
	for _, theirs := range other.policies {
		if theirs.PolicyKey != ref.PolicyKey {
			continue
		}
		if !other.byMatch {
			return "", true
		}
		for _, a := range ref.rules {
			for _, b := range theirs.rules {
				if rule, same = work.Common(a, b); same {
					return rule, true
				}
			}
			if work.Spent() {
				return "", false
			}
		}
	}
	return "", false
}

// meeting reports whether both exceptions match a common resource, and returns it.
func meeting(work *wildcard.Meter, a, b *member) (example string, meet bool) {
	if len(a.clusters) > 0 && len(b.clusters) > 0 && !slices.ContainsFunc(a.clusters, func(name string) bool {
		_, both := work.OverlapsAny(name, b.clusters)
		return both
	}) {
		return "", false
	}
	// An exception from a whole policy of policies.kyverno.io covers one for some images.
	whole := !a.byMatch && (a.restraint == "" || b.restraint == "")
	if a.restraint != b.restraint && !whole || a.controls != b.controls && a.controls != "" && b.controls != "" {
		return "", false
	}
	// Conditions are joined by "and": a resource that meets the longer list meets the shorter too.
	if within(a.conditions, b.conditions) || within(b.conditions, a.conditions) {
		return " under the same conditions", true
	}
	if r := match.InBoth(work, a.block, b.block); r != nil {
		return fmt.Sprintf(" for the same resources, e.g. %q", r.Describe()), true
	}
	return "", false
}

// within reports whether all texts of a list, which is not empty, are in another one that is sorted.
func within(few, many []string) bool {
	return len(few) > 0 && !slices.ContainsFunc(few, func(text string) bool { return !isListed(many, text) })
}
