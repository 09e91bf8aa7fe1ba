package shape

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/match"
	"github.com/polex-dev/polex/pkg/exception"
)

// MaxExempted is the maximum number of resources in an [Exemption].
const MaxExempted = 1000

// Exemption lists the resources of a [ResourceSet] that an exception would exempt.
type Exemption struct {
	// Resources are sorted by kind, namespace and name: at most [MaxExempted] of
	// the Count that there are.
	Resources []exception.Identity
	Count     int
	// Known is false if files do not show the matching resources: a match condition is not
	// a plain comparison, does not compile, or is one too many. Resources is empty then.
	Known bool
	// Cut is set if the exception needs more work than the limit: there may be more
	// resources than were counted.
	Cut bool
	// Assumed lists requirements of the exception that no file can decide, for at least
	// one of the resources: they count as met. Each is the end of a sentence that begins
	// with "assuming".
	Assumed []string
	// Only lists the images, values and controls of these resources that alone would be exempt. It is
	// empty if the whole resources are.
	Only []string
}

// Exempted returns the resources of [Config.Resources] that an exception would exempt from its
// policies. It compares with the match only, so an exception for Pods lists Pods. It does not list
// a Deployment, although Kyverno also applies the policy to its Pod template, nor the Pods that the
// Deployment creates, which are in no file.
func (c *Checker) Exempted(d *exception.Document) Exemption {
	e := kyverno.Read(d)
	if e == nil || c.config.Resources == nil {
		return Exemption{}
	}
	s := &subject{config: &c.config, Exception: e, Doc: d, language: c.language}
	m := s.matcher()
	if m == nil {
		return Exemption{Only: s.only()}
	}
	found := Exemption{Known: true, Only: s.only()}
	var assumed match.Assumptions
	found.Cut = match.Each(c.config.Resources, m, func(id exception.Identity, assuming match.Assumptions) bool {
		found.Resources = append(found.Resources, id)
		assumed |= assuming
		return true
	})
	found.Count, found.Assumed = len(found.Resources), assumed.Texts()
	slices.SortFunc(found.Resources, compareIdentities)
	if len(found.Resources) > MaxExempted {
		found.Resources = slices.Clone(found.Resources[:MaxExempted])
	}
	return found
}

// only returns the parts of resources that the exception exempts, or nil if it exempts whole ones.
func (s *subject) only() (parts []string) {
	listed := func(of, what string, texts []kyverno.Located) string {
		if len(texts) == 0 {
			return of
		}
		return of + what + shortList(kyverno.Texts(texts))
	}
	for _, c := range s.PodSecurity {
		control := listed(fmt.Sprintf("the control %q", c.Name), " of the images ", c.Images)
		if c.Field != "" {
			control += " in " + c.Field
		}
		parts = append(parts, listed(control, " with the values ", c.Values))
	}
	if s.OnlyValues() {
		for _, part := range []string{listed("", "the images ", s.Images), listed("", "the values ", s.AllowedValues)} {
			if part != "" {
				parts = append(parts, part)
			}
		}
	}
	return parts
}

func compareIdentities(a, b exception.Identity) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name))
}

// matcher returns the matcher of the exception, or nil if its resources cannot be told from files.
func (s *subject) matcher() *match.Matcher {
	if s.ByMatch {
		return match.ByMatch(match.BlockOf(s.Match), len(s.Preconditions) > 0)
	}
	conditions := s.conditions()
	if len(s.Unread) > 0 || len(s.Conditions) != len(conditions) {
		return nil // a condition that is left out may be the one that narrows
	}
	texts := make([]string, len(conditions))
	for i, c := range conditions {
		if c.Problem != nil {
			return nil
		}
		texts[i] = c.Text
	}
	return match.ByConditions(s.PolicyKinds(), texts)
}
