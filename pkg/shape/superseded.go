package shape

import (
	"fmt"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

const reasonSuperseded = "superseded"

var supersededLiveCheck = check{
	About: "Finds an exception that replaces the live one of the same name. The message lists new policies and " +
		"rules, a changed match and a later expiry.",
	Reasons: []Reason{{Name: reasonSuperseded, Doc: "the exception replaces a live one", Severity: Warning}},
}

// superseded finds an exception that replaces a live one, and names each extension: the
// earlier approval does not cover more than the live exception.
func (s *Set) superseded(d *exception.Document, m *member) []Finding {
	number, renewed := s.live[m.id.Key()]
	if !renewed {
		return nil
	}
	live := s.members[number]
	if live.at == m.at {
		return nil
	}
	message, hint := fmt.Sprintf("it replaces the live exception at %s", live.at),
		"choose another name if both are needed"
	if extensions := m.beyond(live); len(extensions) > 0 {
		message += ", and changes it: " + strings.Join(extensions, ", ")
		hint = "review the changes like a new exception"
	}
	return findingIn(d, reasonSuperseded, exception.Path{"metadata", "name"}, message, hint)
}

// maxGrown bounds the number of reported extensions.
const maxGrown = 5

// beyond returns the extensions of a member over a live one.
func (m *member) beyond(live *member) []string {
	var grown []string
	more := 0
	say := func(text string) {
		if len(grown) == maxGrown {
			more++
			return
		}
		grown = append(grown, text)
	}
	theirs := map[kyverno.PolicyKey][]string{}
	for _, ref := range live.policies {
		theirs[ref.PolicyKey] = append(theirs[ref.PolicyKey], ref.rules...)
	}
	work := wildcard.NewMeter()
	for _, ref := range m.policies {
		rules, named := theirs[ref.PolicyKey]
		if !named {
			say(fmt.Sprintf("the policy %q is new", ref.Name))
			continue
		}
		for _, rule := range ref.rules {
			if !covered(work, rules, rule) {
				say(fmt.Sprintf("the rule %q of %q is new", rule, ref.Name))
			}
		}
	}
	if more > 0 {
		grown = append(grown, fmt.Sprintf("and %d more", more))
	}
	if m.scope != live.scope {
		grown = append(grown, "the match differs")
	}
	switch {
	case m.endless && !live.endless:
		grown = append(grown, "it has no expiry")
	case !m.ends.IsZero() && !live.ends.IsZero() && m.ends.After(live.ends):
		grown = append(grown, fmt.Sprintf("it expires at %s instead of %s", m.ends.UTC().Format(time.RFC3339),
			live.ends.UTC().Format(time.RFC3339)))
	}
	return grown
}

// covered reports whether one of the patterns matches everything that a rule's name or
// pattern matches.
func covered(work *wildcard.Meter, patterns []string, rule string) bool {
	for _, p := range patterns {
		if work.Spent() {
			return false
		}
		// "?" would match the "*" as one character.
		if p == rule || work.Fits(p, rule) && (!strings.Contains(rule, "*") || !strings.Contains(p, "?")) {
			return true
		}
	}
	return false
}
