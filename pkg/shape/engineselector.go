package shape

import "github.com/polex-dev/polex/internal/kyverno"

// ReasonBadSelector is a reason of findings.
const ReasonBadSelector = "bad-selector"

var badSelectorCheck = check{
	About: "Finds a label selector that Kyverno's webhook rejects: it requires no label, or has an invalid operator, " +
		"value or label key. A namespaceSelector, or a selector with a pattern in its matchLabels, matches nothing " +
		"then, so the same rules apply to it.",
	Reasons: []Reason{{Name: ReasonBadSelector, Doc: "Kyverno rejects a label selector, or matches nothing with it",
		Fixed: true}},
	Run: (*subject).badSelector,
}

func (s *subject) badSelector() {
	for _, f := range s.Match.Filters() {
		for _, selector := range []*kyverno.Selector{f.Selector, f.NamespaceSelector} {
			if selector == nil {
				continue
			}
			if len(selector.Labels) == 0 && len(selector.Expressions) == 0 {
				s.find(ReasonBadSelector, selector.Path, "the selector requires no label",
					"add matchLabels, or remove the selector")
			}
			for _, p := range selector.Problems() {
				s.find(ReasonBadSelector, p.Path, p.Message, p.Hint)
			}
		}
	}
}
