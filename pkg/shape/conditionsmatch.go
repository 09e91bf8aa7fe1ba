package shape

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/expression"
)

// ReasonNotProvenNarrow is a reason of findings.
const ReasonNotProvenNarrow = "not-proven-narrow"

var conditionsMatchEverythingCheck = check{
	Title: "Conditions match everything",
	About: `Finds a policies.kyverno.io exception that does not narrow down what is exempt: it has no
match conditions, one of them says nothing of the resource, or all of them together leave
every resource or every one of a kind, as [kyverno.WidthOf] recognises them. Conditions are
joined by "and", so one that is constant is there to look like a restriction.`,
	Reasons: []Reason{
		{ReasonNotProvenNarrow, "the match conditions are in a form that is not recognised, and may be about any resource", false},
	},
	Run: (*subject).conditionsMatchEverything,
}

func (s *subject) conditionsMatchEverything(time.Time) {
	if s.Exc.Identity.Group != exception.PoliciesGroup {
		return
	}
	conditions := s.conditions()
	if len(conditions) == 0 {
		s.refuse(ReasonMatchesEverything, exception.Path{"spec", "matchConditions"}, "without match conditions the exception is for every resource of its policies",
			`add a condition such as object.metadata.namespace == "team-a" && object.metadata.name == "web"`)
		return
	}
	texts, constant := make([]string, len(conditions)), false
	for i, c := range conditions {
		texts[i] = c.Text
		if c.Problem != nil {
			return // for another check
		}
		if !kyverno.Mentions(c.Text) {
			s.refuse(ReasonMatchesEverything, c.path, fmt.Sprintf("the condition %q says nothing of the resource", expression.Shortened(c.Text)), "say what is particular about the resource")
			constant = true
		}
	}
	if constant {
		return
	}
	switch kyverno.WidthOf(texts) {
	case kyverno.Wide:
		s.refuse(ReasonMatchesEverything, s.whereConditions(), "the match conditions leave every resource, or every one of its kind",
			"say what is particular about the resource: its name, its namespace, a label")
	case kyverno.Unproven:
		s.warn(ReasonNotProvenNarrow, s.whereConditions(), "nothing shows that the match conditions are about certain resources",
			"compare the name or the namespace with texts: object.metadata.name == 'web', object.metadata.namespace in ['a', 'b']; or the kind and a label")
	}
}
