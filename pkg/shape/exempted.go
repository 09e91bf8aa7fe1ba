package shape

import (
	"cmp"
	"slices"

	"github.com/polex-dev/polex/pkg/exception"
)

// MaxExempted is the most resources that an [Exemption] lists.
const MaxExempted = 1000

// Exemption says which resources of a [ResourceSet] an exception would exempt.
type Exemption struct {
	// Resources are sorted by kind, namespace and name: at most [MaxExempted] of
	// the Count that there are.
	Resources []exception.Identity
	Count     int
	// Known is false where it cannot be told which resources match, and then
	// there are none above.
	Known bool
	// Cut is set when the exception asks for more comparisons than it gets: there
	// may be more resources than were counted.
	Cut bool
	// Assumed is what the match also asks for and no file can say, which counts
	// as given.
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
	s := &subject{config: &c.config, doc: d, exc: exc, tree: d.Object()}
	return s.exempted()
}

func (s *subject) exempted() Exemption {
	m, work := s.matcher(), newMeter()
	met := map[exception.Identity]bool{}
	assumed := assumptions{asks: m.asks()}
	known := true
	m.candidates(work, s.config.Resources, func(r *resource) bool {
		if met[r.id] {
			return true
		}
		matches, sure := m.matches(work, r)
		if !sure {
			known = false
			return false
		}
		if matches {
			met[r.id] = true
			assumed.of(r)
		}
		return true
	})
	if !known {
		return Exemption{}
	}
	found := Exemption{Count: len(met), Known: true, Cut: work.spent(), Assumed: assumed.texts()}
	for id := range met {
		found.Resources = append(found.Resources, id)
	}
	slices.SortFunc(found.Resources, compareIdentities)
	if len(found.Resources) > MaxExempted {
		found.Resources = slices.Clip(found.Resources[:MaxExempted])
	}
	return found
}

func compareIdentities(a, b exception.Identity) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
