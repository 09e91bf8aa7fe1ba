package shape

import (
	"fmt"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonUnknownRule is a reason of findings.
const ReasonUnknownRule = "unknown-rule"

var unknownRuleCheck = check{
	Title: "Unknown rule",
	About: `Finds the name or pattern of a rule that the policy does not have, the rules included that
Kyverno makes of it for controllers of Pods. It does nothing today, and covers whatever rule
gets that name.`,
	Reasons: []Reason{
		{Name: ReasonUnknownRule, Doc: "the policy has no such rule"},
	},
	Run: (*subject).unknownRule,
}

func (s *subject) unknownRule() {
	if s.config.Policies == nil {
		return
	}
	work := wildcard.NewMeter()
	met := map[string]*rulesOfPolicy{} // an exception may name one policy very often
	for _, ref := range s.Refs {
		of := met[ref.Name.Text]
		if of == nil {
			of = readRuleNames(s.config.Policies.Find(ref))
			met[ref.Name.Text] = of
		}
		if !of.exists {
			continue
		}
		for _, named := range ref.Rules {
			if s.counts[Error.String()] >= maxFindings {
				return
			}
			text := named.Text
			if of.known[text] || wildcard.In(text) && anyFits(work, text, of.names) {
				continue
			}
			s.find(ReasonUnknownRule, named.Path, fmt.Sprintf("the policy %q has no rule %q", ref.Name.Text, text), of.hint(text))
		}
	}
}

// rulesOfPolicy are the names of a policy's rules, with those that are made.
type rulesOfPolicy struct {
	exists bool
	names  []string
	known  map[string]bool
}

func readRuleNames(policies []*kyverno.Policy) *rulesOfPolicy {
	of := &rulesOfPolicy{exists: len(policies) > 0, names: kyverno.RuleNames(policies), known: map[string]bool{}}
	for _, name := range of.names {
		of.known[name] = true
	}
	return of
}

func anyFits(work *wildcard.Meter, pattern string, names []string) bool {
	for _, name := range names {
		if work.Spent() {
			return false
		}
		if work.Fits(pattern, name) {
			return true
		}
	}
	return false
}

// hint says what an unknown name is likely to mean.
func (of *rulesOfPolicy) hint(text string) string {
	for _, prefix := range []string{kyverno.AutogenCronJobPrefix, kyverno.AutogenPrefix} {
		if base, made := strings.CutPrefix(text, prefix); made && of.known[base] {
			return fmt.Sprintf("Kyverno makes no such rule of %q; name the rules that are there", base)
		}
	}
	if hint := exception.Nearest(text, of.names); hint != "" {
		return hint
	}
	return "name a rule of the policy"
}
