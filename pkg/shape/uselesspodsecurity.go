package shape

import (
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

const reasonUselessPodSecurity = "useless-pod-security"

var uselessPodSecurityCheck = check{
	About: "Finds `spec.podSecurity` in an exception from rules that are not podSecurity rules. It reads as if only " +
		"some controls were exempt. Kyverno ignores the field there and skips the whole rule.",
	Reasons: []Reason{{Name: reasonUselessPodSecurity,
		Doc: "podSecurity restricts nothing, because no named rule is a podSecurity rule"}},
	Run: (*subject).uselessPodSecurity,
}

func (s *subject) uselessPodSecurity() {
	if s.config.Policies == nil || len(s.PodSecurity) == 0 {
		return
	}
	work := wildcard.NewMeter()
	for _, ref := range s.Refs {
		rules, named, checked := ref.RuleNames(), false, false
		for _, p := range s.config.Policies.Find(ref) {
			for _, r := range p.Rules {
				if !work.Spend(1) {
					return
				}
				if !r.NamedBy(work, rules) {
					continue
				}
				named, checked = true, checked || r.PodSecurity
			}
		}
		if named && !checked {
			s.find(reasonUselessPodSecurity, exception.Path{"spec", "podSecurity"},
				fmt.Sprintf("none of the named rules of the policy %q is a podSecurity rule, so Kyverno skips the "+
					"whole rules and not only these controls", ref.Name.Text),
				"remove podSecurity to exempt from the whole rules, or name a podSecurity rule")
		}
	}
}
