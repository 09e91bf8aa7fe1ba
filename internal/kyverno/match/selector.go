package match

import (
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// LabelSelector is a selector as in Kyverno 1.19: matchLabels may have patterns for keys and
// values, matchExpressions may not. The zero value matches everything.
type LabelSelector struct {
	Labels      map[string]string
	Expressions []LabelExpression
	Broken      bool // Kubernetes rejects it, so it matches nothing
}

// LabelExpression is one of matchExpressions.
type LabelExpression struct {
	Key, Operator string
	Values        []string
}

// zeroed makes the text that Kyverno passes to Kubernetes for a pattern that matches no label of
// the object.
var zeroed = strings.NewReplacer("*", "0", "?", "0")

// selectorOf returns nil if there is no selector.
func selectorOf(of *kyverno.Selector) *LabelSelector {
	if of == nil {
		return nil
	}
	s := &LabelSelector{Labels: of.Labels, Broken: len(of.Problems()) > 0}
	for key, text := range s.Labels {
		s.Broken = s.Broken || !exception.IsQualifiedName(zeroed.Replace(key)) ||
			!exception.IsLabelValue(zeroed.Replace(text))
	}
	for _, e := range of.Expressions {
		s.Expressions = append(s.Expressions,
			LabelExpression{Key: e.Key.Text, Operator: e.Operator, Values: kyverno.Texts(e.Values)})
	}
	return s
}

// matches reports whether the selector matches an object with these labels.
func (s *LabelSelector) matches(work *wildcard.Meter, labels map[string]string) bool {
	if s.Broken {
		return false
	}
	for key, value := range s.Labels {
		if !hasPair(work, key, value, labels) {
			return false
		}
	}
	for _, e := range s.Expressions {
		value, set := labels[e.Key]
		work.Spend(1 + len(e.Values))
		ok := false
		switch e.Operator {
		case "In":
			ok = set && slices.Contains(e.Values, value)
		case "NotIn":
			ok = !set || !slices.Contains(e.Values, value)
		case "Exists":
			ok = set
		case "DoesNotExist":
			ok = !set
		}
		if !ok {
			return false
		}
	}
	return !work.Spent()
}

// hasPair reports whether a label or annotation matches a pattern for the key and one for the
// value.
func hasPair(work *wildcard.Meter, key, value string, pairs map[string]string) bool {
	if !wildcard.In(key) {
		actual, set := pairs[key]
		return set && work.Fits(value, actual)
	}
	for k, v := range pairs {
		if work.Fits(key, k) && work.Fits(value, v) {
			return true
		}
	}
	return false
}
