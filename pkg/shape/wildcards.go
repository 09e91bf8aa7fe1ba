package shape

import (
	"slices"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Reasons of findings.
const (
	ReasonNamesNothing   = "names-nothing"
	ReasonWildcardPolicy = "wildcard-policy"
	ReasonWildcardRule   = "wildcard-rule"
	reasonWildcardImage  = "wildcard-image"
	reasonWildcardMatch  = "wildcard-match"
)

var wildcardPolicyCheck = check{
	About: "Finds a policy that is named by a pattern. Kyverno 1.19 compares policy names exactly, so a pattern has " +
		"no effect today. It shows that its author wants more than a reviewer should approve.",
	Reasons: []Reason{{Name: ReasonWildcardPolicy, Doc: "a policy is named by a pattern", Milder: true}},
	Run: func(s *subject) {
		for _, ref := range s.Refs {
			switch name := ref.Name.Text; {
			case wildcard.Only(ref.Bare()):
				s.find(ReasonWildcardPolicy, ref.Name.Path, "name the policy", "%q matches every policy", name)
			case wildcard.In(name):
				s.warn(ReasonWildcardPolicy, ref.Name.Path,
					"name the policy", "Kyverno compares %q as an exact name, not as a pattern", name)
			}
			if wildcard.In(ref.Kind.Text) {
				s.find(ReasonWildcardPolicy, ref.Kind.Path, "write a kind, e.g. ValidatingPolicy",
					"%q is not a kind of policy", ref.Kind.Text)
			}
		}
	},
}

var wildcardRuleCheck = check{
	About: "Finds a rule that is named by a pattern, which also covers rules that the policy gets later. A pattern " +
		"that leaves some rules out is a warning, because `autogen-*` is a common way to write the rules that " +
		"Kyverno generates for Pod controllers.",
	Reasons: []Reason{{Name: ReasonWildcardRule, Doc: "a rule is named by a pattern", Milder: true}},
	Run: func(s *subject) {
		for _, ref := range s.Refs {
			for _, named := range ref.Rules {
				switch rule, path := named.Text, named.Path; {
				case wildcard.Only(rule):
					s.find(ReasonWildcardRule, path, "name the rules",
						"%q matches every rule of the policy, including future ones", rule)
				case wildcard.In(rule):
					s.warn(ReasonWildcardRule, path, "name the rules", "the pattern %q also matches future rules", rule)
				}
			}
		}
	},
}

var wildcardImageCheck = check{
	About: "Finds an image or an allowed value that matches everything. In `podSecurity` it is a warning: there it " +
		"covers every container, but only of the resources that the match selects.",
	Reasons: []Reason{{Name: reasonWildcardImage, Doc: "an image or an allowed value matches everything",
		Milder: true}},
	Run: func(s *subject) {
		for _, p := range slices.Concat(s.Images, s.AllowedValues) {
			if wildcard.Only(p.Text) {
				s.find(reasonWildcardImage, p.Path, "list the images or values that are needed",
					"%q matches everything", p.Text)
			}
		}
		for _, control := range s.PodSecurity {
			for _, p := range control.Images {
				if wildcard.Only(p.Text) {
					s.warn(reasonWildcardImage, p.Path, "list the images that need the exception",
						"%q matches every image, including future ones", p.Text)
				}
			}
		}
	},
}

var wildcardMatchCheck = check{
	About: "Finds a part of a narrow filter that looks like a restriction and restricts nothing: a name or namespace " +
		"that matches everything, or a selector that requires no label to be present. If a later change removes " +
		"the real restriction, the filter still looks narrow.",
	Reasons: []Reason{{Name: reasonWildcardMatch, Doc: "a name, a namespace or a selector restricts nothing"}},
	Run: func(s *subject) {
		for _, f := range s.Match.Filters() {
			if slices.ContainsFunc([]string{ReasonMatchesEverything, ReasonOpenMatch, ReasonMissingKinds},
				func(reason string) bool { return s.isFound(reason, f.Path) }) {
				continue // reported already, for the whole filter
			}
			for _, what := range []struct {
				noun     string
				patterns []kyverno.Located
			}{{"name", f.Named()}, {"namespace", f.Namespaces}} {
				for _, p := range what.patterns {
					if wildcard.Only(p.Text) {
						s.find(reasonWildcardMatch, p.Path, "list the "+what.noun+"s, or remove the list",
							"%q matches every %s", p.Text, what.noun)
					}
				}
			}
			for _, selector := range []*kyverno.Selector{f.Selector, f.NamespaceSelector} {
				if selector != nil && !selector.Selects() && !s.isFound(ReasonBadSelector, selector.Path) {
					s.find(reasonWildcardMatch, selector.Path, "require a label, or remove the selector",
						"the %s requires no label to be present", selector.Path[len(selector.Path)-1])
				}
			}
		}
	},
}

// isFound reports whether there is a finding of a reason at a path, above it or below.
func (s *subject) isFound(reason string, path exception.Path) bool {
	return slices.ContainsFunc(s.found, func(f Finding) bool {
		n := min(len(f.Path), len(path))
		return f.Reason == reason && f.Path[:n].String() == path[:n].String()
	})
}

var namesNothingCheck = check{
	About: "Finds an empty list of policies, or a policy with an empty list of rules. Such an exception exempts " +
		"nothing and looks harmless in a review, until a later change of one word fills the list.",
	Reasons: []Reason{{Name: ReasonNamesNothing, Doc: "the exception names no policy or no rule"}},
	Run: func(s *subject) {
		if s.Refs != nil && len(s.Refs) == 0 {
			s.find(ReasonNamesNothing, s.RefsPath, "add a policy, or remove the exception",
				"the exception names no policy")
		}
		for _, ref := range s.Refs {
			if ref.Rules != nil && len(ref.Rules) == 0 {
				s.find(ReasonNamesNothing, ref.RulesPath(),
					"list the rules, and the autogen- rules for Pod controllers",
					"the exception names no rule of the policy")
			}
		}
	},
}
