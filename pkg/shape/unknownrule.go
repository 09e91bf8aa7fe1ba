package shape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

const reasonUnknownRule = "unknown-rule"

var unknownRuleCheck = check{
	About: "Finds a rule name or pattern that the policy does not have. The rules that Kyverno generates for Pod " +
		"controllers count as rules of the policy. The name has no effect today, and covers any rule that gets " +
		"this name later.",
	Reasons: []Reason{{Name: reasonUnknownRule, Doc: "the policy does not have this rule"}},
	Run:     (*subject).unknownRule,
}

func (s *subject) unknownRule() {
	if s.config.Policies == nil || s.config.Policies.Incomplete {
		return
	}
	work := wildcard.NewMeter()
	met := map[string][]string{} // an exception can name one policy many times
	for _, ref := range s.Refs {
		names, again := met[ref.Name.Text]
		if !again {
			names = kyverno.RuleNames(s.config.Policies.Find(ref))
			met[ref.Name.Text] = names
		}
		if names == nil {
			continue // reported by the check on policies
		}
		for _, rule := range ref.Rules {
			if s.counts[Error.String()] >= maxFindings {
				return
			}
			if isListed(names, rule.Text) || wildcard.In(rule.Text) &&
				slices.ContainsFunc(names, func(name string) bool { return work.Fits(rule.Text, name) }) {
				continue
			}
			s.find(reasonUnknownRule, rule.Path, fmt.Sprintf("the policy %q has no rule %q", ref.Name.Text, rule.Text),
				nearestRule(names, rule.Text))
		}
	}
}

func isListed(sorted []string, name string) bool {
	_, is := slices.BinarySearch(sorted, name)
	return is
}

// maxNamedRules is the maximum number of rules that a hint lists.
const maxNamedRules = 5

// nearestRule returns a hint with the likely meaning of an unknown name.
func nearestRule(names []string, text string) string {
	for _, prefix := range []string{kyverno.AutogenCronJobPrefix, kyverno.AutogenPrefix} {
		if base, made := strings.CutPrefix(text, prefix); made && isListed(names, base) {
			return fmt.Sprintf("Kyverno generates no such rule from %q: remove this name", base)
		}
	}
	if hint := exception.Nearest(text, names); hint != "" {
		return hint
	}
	if len(names) == 0 {
		return "name a rule of the policy"
	}
	return "name a rule of the policy: " + strings.Join(names[:min(len(names), maxNamedRules)], ", ")
}
