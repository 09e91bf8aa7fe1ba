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
	// Resources are sorted by kind, namespace and name: at most [MaxExempted] of the Count that there are.
	Resources []exception.Identity
	Count     int
	// Known is false if files do not show the matching resources: a match condition is not
	// a plain comparison, does not compile, or is one too many. Resources is empty then.
	Known bool
	// Cut is set if the exception needs more work than the limit: there may be more resources than were counted.
	Cut bool
	// Assumed lists requirements of the exception that no file can decide, for at least one of the resources: they
	// count as met. Each is the end of a sentence that begins with "assuming".
	Assumed []string
	// Only lists the images, values and controls of these resources that alone would be exempt. It is
	// empty if the whole resources are.
	Only []string
}

// Exempted returns the resources of [Config.Resources] that an exception would exempt from its policies. It compares
// with the match only, so an exception for Pods lists Pods. It does not list a Deployment, although Kyverno also
// applies the policy to its Pod template, nor the Pods that the Deployment creates, which are in no file.
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
	slices.SortFunc(found.Resources, func(a, b exception.Identity) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
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
		return of + what + kyverno.Listed(kyverno.Texts(texts))
	}
	for _, c := range s.PodSecurity {
		control := listed(fmt.Sprintf("the control %q", c.Name), " of the images ", c.Images)
		if c.Field != "" {
			control += " in " + c.Field
		}
		parts = append(parts, listed(control, " with the values ", c.Values))
	}
	if s.OnlyValues() {
		parts = append(parts, listed("", "the images ", s.Images), listed("", "the values ", s.AllowedValues))
	}
	return slices.DeleteFunc(parts, func(part string) bool { return part == "" })
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

const reasonExemptsNothing = "exempts-nothing"

var exemptsNothingCheck = check{
	About: "Needs the resources (`--resources`). Finds an exception that would exempt none of them. polex reports " +
		"nothing if files cannot tell: for kinds that controllers create, for conditions that are not plain " +
		"comparisons, and for conditions on policies that mutate, generate or delete.",
	Reasons: []Reason{{Name: reasonExemptsNothing, Doc: "none of the given resources would be exempt",
		Severity: Warning}},
	Run: func(s *subject) {
		if s.config.Resources == nil {
			return
		}
		m := s.matcher()
		if m == nil || m.MoreThanFiles() {
			return
		}
		exempts := false
		cut := match.Each(s.config.Resources, m, func(exception.Identity, match.Assumptions) bool {
			exempts = true
			return false
		})
		if !exempts && !cut {
			s.find(reasonExemptsNothing, s.ScopePath, "check kinds, names and namespaces, or remove the exception",
				"the exception would exempt none of the given resources")
		}
	},
}

// PolicySet holds the known policies. Without one, the checks that need it are skipped; an empty
// one means that there are no policies. It does not change, and several goroutines can use it.
type PolicySet = kyverno.PolicySet

// ReadPolicies makes a set of the documents that are Kyverno policies, in any version of their
// group, and ignores the others: a folder of policies also holds their tests and values. A policy
// that is written several times, for example once for each cluster, has the rules of all of them.
func ReadPolicies(docs []*exception.Document) *PolicySet { return kyverno.ReadPolicies(docs) }

// ResourceSet holds the objects of a repository that exceptions may exempt. It does not change, and
// several goroutines can use it.
type ResourceSet = match.Resources

// ReadResources makes a set of the documents that are objects of a cluster, of any kind, and ignores the others:
// values, kustomizations. It reads objects as written, without templates or overlays.
func ReadResources(docs []*exception.Document) *ResourceSet { return match.ReadResources(docs) }
