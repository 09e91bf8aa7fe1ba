package shape

import (
	"fmt"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// unknownRule finds the name or pattern of a rule that the policy does not have,
// the rules included that Kyverno makes of it for controllers of Pods. It does
// nothing today, and covers whatever rule gets that name.
func (s *subject) unknownRule(time.Time) {
	if s.config.Policies == nil || s.exc.Identity.Group != exception.KyvernoGroup {
		return
	}
	work := newMeter()
	for _, ref := range s.exc.Policies {
		policies := s.config.Policies.find(exception.KyvernoGroup, ref)
		if len(policies) == 0 {
			continue
		}
		names := ruleNames(policies)
		known := make(map[string]bool, len(names))
		for _, name := range names {
			known[name] = true
		}
		for i, text := range ref.Rules {
			if len(s.found) >= maxFindings {
				return
			}
			if known[text] || hasWildcard(text) && anyFits(work, text, names) {
				continue
			}
			s.refuse(ReasonUnknownRule, ref.Path.With("ruleNames").With(i), fmt.Sprintf("the policy %q has no rule %q", ref.Name, text), ruleHint(text, names, known))
		}
	}
}

func anyFits(work *meter, pattern string, names []string) bool {
	for _, name := range names {
		if work.spent() {
			return false
		}
		if work.fits(pattern, name) {
			return true
		}
	}
	return false
}

func ruleHint(text string, names []string, known map[string]bool) string {
	for _, prefix := range []string{"autogen-cronjob-", "autogen-"} {
		if base, made := strings.CutPrefix(text, prefix); made && known[base] {
			return fmt.Sprintf("Kyverno makes no such rule of %q; name the rules that are there", base)
		}
	}
	if hint := exception.Nearest(text, names); hint != "" {
		return hint
	}
	return "name a rule of the policy"
}
