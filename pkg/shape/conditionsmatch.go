package shape

import (
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno/schema"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/expression"
)

// ReasonNotProvenNarrow is a reason of findings.
const ReasonNotProvenNarrow = "not-proven-narrow"

var conditionsMatchEverythingCheck = check{
	Title: "Match conditions",
	About: "Finds a policies.kyverno.io exception without match conditions, or with conditions that select every " +
		"resource or every resource of a kind.\n\n" +
		"Conditions are narrow if one of them, or one of its parts between `&&`, compares the name or the " +
		"namespace with literals. They are also narrow if they compare the kind and a label. polex evaluates " +
		"no condition, and recognises [these forms](guard.md#match-conditions). Other forms are " +
		"`not-proven-narrow`: a warning, and an error in the preset strict.",
	Reasons: []Reason{{Name: ReasonNotProvenNarrow,
		Doc:      "polex does not recognise the form of the match conditions, and they may select any resource",
		Severity: Warning}},
	Run: (*subject).conditionsMatchEverything,
}

func (s *subject) conditionsMatchEverything() {
	if s.ByMatch || s.isFound(schema.WrongType, s.whereConditions()) {
		return
	}
	conditions := s.conditions()
	if len(conditions) == 0 {
		s.find(ReasonMatchesEverything, s.ScopePath,
			"the exception has no match conditions, so it exempts every resource from its policies",
			`add a condition, e.g. object.metadata.namespace == "team-a" && object.metadata.name == "web"`)
		return
	}
	texts, constant := make([]string, len(conditions)), false
	for i, c := range conditions {
		texts[i] = c.Text
		if c.Problem != nil {
			return // for another check
		}
		if !kyverno.Mentions(c.Text) {
			s.find(ReasonMatchesEverything, c.path, fmt.Sprintf("the condition %q does not depend on the resource",
				expression.Shortened(c.Text)), "remove it, or compare the name or the namespace")
			constant = true
		}
	}
	if constant {
		return
	}
	switch kyverno.WidthOf(texts) {
	case kyverno.Wide:
		s.find(ReasonMatchesEverything, s.whereConditions(),
			"the match conditions select every resource, or every resource of a kind",
			"compare the name or the namespace, e.g. object.metadata.name == 'web' or object.metadata.namespace in "+
				"['a', 'b']")
	case kyverno.AnyKind:
		s.find(ReasonMissingKinds, s.whereConditions(),
			"these conditions restrict only labels, so they exempt every kind that the policy covers",
			"add the kind, e.g. object.kind == 'Pod'")
	case kyverno.Unproven:
		s.find(ReasonNotProvenNarrow, s.whereConditions(),
			"polex does not recognise how the match conditions restrict the resources",
			"compare the name or the namespace with literals, e.g. object.metadata.name == 'web' or "+
				"object.metadata.namespace in ['a', 'b']; or compare the kind and a label")
	}
}
