package shape

import (
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonBadSelector is a reason of findings.
const ReasonBadSelector = "bad-selector"

var badSelectorCheck = check{
	Title: "Bad selector",
	About: `Finds a label selector that Kyverno's webhook refuses: one that asks for nothing, or with an
operator, values or labels that cannot be meant. Kyverno looks at no namespaceSelector, and
at no selector that has a pattern in its matchLabels; a selector of either sort that is
malformed matches nothing later, so the same is asked of it.`,
	Reasons: []Reason{
		{Name: ReasonBadSelector, Doc: "Kyverno would refuse a label selector, or match nothing with it", Fixed: true},
	},
	Run: (*subject).badSelector,
}

func (s *subject) badSelector() {
	for _, f := range s.Match.Filters() {
		for _, selector := range []*kyverno.Selector{f.Selector, f.NamespaceSelector} {
			if selector != nil {
				s.selector(selector)
			}
		}
	}
}

func (s *subject) selector(selector *kyverno.Selector) {
	path := selector.Path
	if len(selector.Labels) == 0 && len(selector.Expressions) == 0 {
		s.find(ReasonBadSelector, path, "the selector asks for no label", "add matchLabels, or remove the selector")
		return
	}
	for key, text := range selector.Labels {
		at := path.With("matchLabels").With(key)
		s.labelKey(kyverno.Located{Text: key, Path: at}, wildcard.In(key))
		s.labelValue(kyverno.Located{Text: text, Path: at}, wildcard.In(text))
	}
	for _, e := range selector.Expressions {
		s.labelKey(e.Key, false)
		switch e.Operator {
		case "In", "NotIn":
			if len(e.Values) == 0 {
				s.find(ReasonBadSelector, e.Path, fmt.Sprintf("%s has no values to compare with", e.Operator), "add values")
			}
		case "Exists", "DoesNotExist":
			if len(e.Values) > 0 {
				s.find(ReasonBadSelector, e.Path.With("values"), fmt.Sprintf("%s compares with no values", e.Operator), "remove values, or write "+map[string]string{"Exists": "In", "DoesNotExist": "NotIn"}[e.Operator])
			}
		default:
			s.find(ReasonBadSelector, e.Path.With("operator"), fmt.Sprintf("%q is no operator of a selector", e.Operator), "write In, NotIn, Exists or DoesNotExist")
		}
		for _, value := range e.Values {
			s.labelValue(value, false)
		}
	}
}

func (s *subject) labelKey(key kyverno.Located, isPattern bool) {
	if !isPattern && !exception.IsQualifiedName(key.Text) {
		s.find(ReasonBadSelector, key.Path, fmt.Sprintf("%q is not the key of a label", key.Text), "write it like example.com/name or name")
	}
}

func (s *subject) labelValue(value kyverno.Located, isPattern bool) {
	if !isPattern && !exception.IsLabelValue(value.Text) {
		s.find(ReasonBadSelector, value.Path, fmt.Sprintf("%q is not a label's value", value.Text), "use at most 63 letters, digits, dashes, underscores and dots")
	}
}
