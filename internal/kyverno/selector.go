package kyverno

import (
	"fmt"
	"maps"
	"slices"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Selector is a label selector. In Kyverno, Labels may be patterns.
type Selector struct {
	Path        exception.Path
	Labels      map[string]string
	Expressions []SelectorExpression
}

// SelectorExpression is one of matchExpressions.
type SelectorExpression struct {
	Path     exception.Path
	Key      Located
	Operator string
	Values   []Located
}

func (r *reader) selector(f node) *Selector {
	if f.value == nil {
		return nil
	}
	tree := r.mapping(f)
	if tree.tree == nil {
		return nil
	}
	return &Selector{Path: tree.path, Labels: r.textsOf(tree.at("matchLabels")),
		Expressions: each(r, tree.at("matchExpressions"), func(e object) SelectorExpression {
			return SelectorExpression{Path: e.path, Key: r.text(e.at("key")), Operator: r.text(e.at("operator")).Text,
				Values: r.texts(e.at("values"))}
		})}
}

// Selects reports whether a selector requires a label to be present.
func (s *Selector) Selects() bool {
	if s == nil {
		return false
	}
	for key := range s.Labels {
		if !wildcard.Only(key) {
			return true
		}
	}
	return slices.ContainsFunc(s.Expressions,
		func(e SelectorExpression) bool { return e.Operator == "In" || e.Operator == "Exists" })
}

// keys returns the sorted keys of the labels with their paths.
func (s *Selector) keys() []Located {
	all := make([]Located, 0, len(s.Labels))
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		all = append(all, Located{key, s.Path.With("matchLabels").With(key)})
	}
	return all
}

// Problems returns the reasons for which Kubernetes rejects a selector. Kyverno then matches nothing.
// It does not check patterns.
func (s *Selector) Problems() []Problem {
	var problems []Problem
	say := func(path exception.Path, hint, format string, args ...any) {
		problems = append(problems, Problem{path, fmt.Sprintf(format, args...), hint})
	}
	key := func(key Located) {
		if !exception.IsQualifiedName(key.Text) {
			say(key.Path, "write it like example.com/name or name", "%q is not a valid label key", key.Text)
		}
	}
	value := func(value Located) {
		if !exception.IsLabelValue(value.Text) {
			say(value.Path, "use at most 63 letters, digits, dashes, underscores and dots",
				"%q is not a valid label value", value.Text)
		}
	}
	for _, label := range s.keys() {
		if !wildcard.In(label.Text) {
			key(label)
		}
		if text := s.Labels[label.Text]; !wildcard.In(text) {
			value(Located{text, label.Path})
		}
	}
	for _, e := range s.Expressions {
		key(e.Key)
		switch e.Operator {
		case "In", "NotIn":
			if len(e.Values) == 0 {
				say(e.Path, "add values", "the operator %s requires values", e.Operator)
			}
		case "Exists", "DoesNotExist":
			if len(e.Values) > 0 {
				say(e.Path.With("values"), "remove values, or write "+map[string]string{"Exists": "In",
					"DoesNotExist": "NotIn"}[e.Operator], "the operator %s accepts no values", e.Operator)
			}
		default:
			say(e.Path.With("operator"), "write In, NotIn, Exists or DoesNotExist",
				"%q is not an operator of a selector", e.Operator)
		}
		for _, v := range e.Values {
			value(v)
		}
	}
	return problems
}
