package shape

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/draft"
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
		{ReasonBadSelector, "Kyverno would refuse a label selector, or match nothing with it", true},
	},
	Run: (*subject).badSelector,
}

func (s *subject) badSelector(time.Time) {
	for _, f := range s.AllFilters() {
		for _, field := range []string{"selector", "namespaceSelector"} {
			if selector, isMapping := f.Resources[field].(map[string]any); isMapping {
				s.selector(selector, f.Path.With("resources").With(field))
			}
		}
	}
}

func (s *subject) selector(selector map[string]any, path exception.Path) {
	labels, _ := selector["matchLabels"].(map[string]any)
	expressions, _ := selector["matchExpressions"].([]any)
	if len(labels) == 0 && len(expressions) == 0 {
		s.refuse(ReasonBadSelector, path, "the selector asks for no label", "add matchLabels, or remove the selector")
		return
	}
	for key, value := range labels {
		at := path.With("matchLabels").With(key)
		if !wildcard.In(key) && !exception.IsQualifiedName(key) {
			s.refuse(ReasonBadSelector, at, fmt.Sprintf("%q is not the key of a label", key), "write it like example.com/name or name")
		}
		if text, isText := value.(string); isText && !wildcard.In(text) && !exception.IsLabelValue(text) {
			s.refuse(ReasonBadSelector, at, fmt.Sprintf("%q is not a label's value", text), labelHint)
		}
	}
	for i, item := range expressions {
		if expression, isMapping := item.(map[string]any); isMapping {
			s.selectorExpression(expression, path.With("matchExpressions").With(i))
		}
	}
}

const labelHint = "use at most 63 letters, digits, dashes, underscores and dots"

func (s *subject) selectorExpression(expression map[string]any, path exception.Path) {
	if key, isText := expression["key"].(string); isText && !exception.IsQualifiedName(key) {
		s.refuse(ReasonBadSelector, path.With("key"), fmt.Sprintf("%q is not the key of a label", key), "write it like example.com/name or name")
	}
	values := draft.TextsOf(expression["values"], path.With("values"))
	switch operator, _ := expression["operator"].(string); operator {
	case "In", "NotIn":
		if len(values) == 0 {
			s.refuse(ReasonBadSelector, path, fmt.Sprintf("%s has no values to compare with", operator), "add values")
		}
	case "Exists", "DoesNotExist":
		if len(values) > 0 {
			s.refuse(ReasonBadSelector, path.With("values"), fmt.Sprintf("%s compares with no values", operator), "remove values, or write "+map[string]string{"Exists": "In", "DoesNotExist": "NotIn"}[operator])
		}
	default:
		s.refuse(ReasonBadSelector, path.With("operator"), fmt.Sprintf("%q is no operator of a selector", operator), "write In, NotIn, Exists or DoesNotExist")
	}
	for _, value := range values {
		if !exception.IsLabelValue(value.Text) {
			s.refuse(ReasonBadSelector, value.Path, fmt.Sprintf("%q is not a label's value", value.Text), labelHint)
		}
	}
}
