package shape

import (
	"cmp"
	"slices"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/draft"
	"github.com/polex-dev/polex/pkg/shape/internal/wildcard"
)

// MaxExempted is the most resources that an [Exemption] lists.
const MaxExempted = 1000

// Exemption says which resources of a [ResourceSet] an exception would exempt.
type Exemption struct {
	// Resources are sorted by kind, namespace and name: at most [MaxExempted] of
	// the Count that there are.
	Resources []exception.Identity
	Count     int
	// Known is false where there is no telling which resources match, since a
	// condition does not compile or is one too many. Then there are none above.
	Known bool
	// Cut is set when the exception asks for more work than it gets: there may be
	// more resources than were counted.
	Cut bool
	// Assumed is what the exception also asks for and no file can say, of one of
	// the resources at least: it counts as given. Each is the end of a sentence
	// that begins with "assuming".
	Assumed []string
}

// Exempted returns the resources of [Config.Resources] that an exception would
// exempt from its policies. It takes the match at its word: an exception for
// Pods lists Pods, though Kyverno also holds a Deployment's template against
// the policy, under the rules that it makes for controllers, and the Pods that
// the Deployment makes are in no file.
func (c *Checker) Exempted(d *exception.Document) Exemption {
	exc, ok := d.Exception()
	if !ok || c.config.Resources == nil {
		return Exemption{}
	}
	s := &subject{config: &c.config, Draft: draft.New(d, exc), language: c.language}
	m := s.matcher()
	if m == nil {
		return Exemption{}
	}
	found := Exemption{Known: true}
	var assumed assumptions
	found.Cut = c.config.Resources.each(m, func(id exception.Identity, assuming assumptions) bool {
		found.Resources = append(found.Resources, id)
		assumed |= assuming
		return true
	})
	found.Count, found.Assumed = len(found.Resources), assumed.texts()
	slices.SortFunc(found.Resources, compareIdentities)
	if len(found.Resources) > MaxExempted {
		found.Resources = slices.Clone(found.Resources[:MaxExempted])
	}
	return found
}

// each calls visit with every resource that an exception is for, once, until it
// returns false, and reports whether there may be more.
func (set *ResourceSet) each(m matcher, visit func(exception.Identity, assumptions) bool) (cut bool) {
	work, met := wildcard.NewMeter(), map[exception.Identity]bool{}
	m.candidates(work, set, func(r *resource) bool {
		if met[r.id] {
			return true
		}
		if takes, assuming := m.takes(work, r); takes {
			met[r.id] = true
			if !visit(r.id, assuming) {
				return false
			}
		}
		return !work.Spent()
	})
	return work.Spent()
}

func compareIdentities(a, b exception.Identity) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
