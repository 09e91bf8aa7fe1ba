package shape

import "github.com/polex-dev/polex/internal/kyverno"

// ReasonBadSelector is a reason of findings.
const ReasonBadSelector = "bad-selector"

var badSelectorCheck = check{
	About: `Finds a label selector that Kyverno's webhook refuses: one that asks for nothing, or with an
operator, values or labels that cannot be meant. Kyverno looks at no namespaceSelector, and
at no selector that has a pattern in its matchLabels; a selector of either sort that is
malformed matches nothing later, so the same is asked of it.`,
	Reasons: []Reason{{Name: ReasonBadSelector, Doc: "Kyverno would refuse a label selector, or match nothing with it", Fixed: true}},
	Run:     (*subject).badSelector,
}

func (s *subject) badSelector() {
	for _, f := range s.Match.Filters() {
		for _, selector := range []*kyverno.Selector{f.Selector, f.NamespaceSelector} {
			if selector == nil {
				continue
			}
			if len(selector.Labels) == 0 && len(selector.Expressions) == 0 {
				s.find(ReasonBadSelector, selector.Path, "the selector asks for no label", "add matchLabels, or remove the selector")
			}
			for _, p := range selector.Problems() {
				s.find(ReasonBadSelector, p.Path, p.Message, p.Hint)
			}
		}
	}
}
