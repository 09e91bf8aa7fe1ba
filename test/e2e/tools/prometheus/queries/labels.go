package main

import (
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// labels returns the labels in the result of an expression. It also checks all parts of the
// expression.
func (c *checker) labels(e parser.Expr) set {
	switch e := e.(type) {
	case *parser.VectorSelector:
		return c.selected(e)
	case *parser.MatrixSelector:
		return c.labels(e.VectorSelector)
	case *parser.SubqueryExpr:
		return c.labels(e.Expr)
	case *parser.StepInvariantExpr:
		return c.labels(e.Expr)
	case *parser.ParenExpr:
		return c.labels(e.Expr)
	case *parser.UnaryExpr:
		return c.labels(e.Expr)
	case *parser.AggregateExpr:
		return c.aggregated(e)
	case *parser.BinaryExpr:
		return c.combined(e)
	case *parser.Call:
		return c.called(e)
	default: // numbers and strings
		return set{}
	}
}

// selected checks the metric and each value that a label is compared with. That includes excluded
// values: if there is no such value, the query is wrong.
func (c *checker) selected(s *parser.VectorSelector) set {
	metric, there := c.known[s.Name]
	if !there {
		c.complain("there is no metric %s", s.Name)
		return set{}
	}
	for _, m := range s.LabelMatchers {
		if m.Name == labels.MetricName {
			continue
		}
		values, there := metric[m.Name]
		if !there {
			c.complain("%s has no label %s", s.Name, m.Name)
			continue
		}
		wanted := m.SetMatches() // of a regular expression that is a list of words
		if m.Type == labels.MatchEqual || m.Type == labels.MatchNotEqual {
			wanted = []string{m.Value}
		}
		for _, value := range wanted {
			if !values[value] {
				c.complain("%s has no %s that is %q", s.Name, m.Name, value)
			}
		}
		if len(wanted) == 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(values)), finds(m)) {
			c.complain("%s has no %s like %q", s.Name, m.Name, m.Value)
		}
	}
	return keys(metric)
}

// finds reports whether a regular expression matches a value, to include or to exclude it.
func finds(m *labels.Matcher) func(string) bool {
	return func(value string) bool { return m.Matches(value) == (m.Type == labels.MatchRegexp) }
}

func (c *checker) aggregated(a *parser.AggregateExpr) set {
	below := c.labels(a.Expr)
	for _, name := range a.Grouping {
		if !below[name] {
			c.complain("it is grouped by %s, which is no label of %s", name, a.Expr)
		}
	}
	switch {
	case a.Op == parser.TOPK || a.Op == parser.BOTTOMK:
		return below
	case a.Without:
		rest := maps.Clone(below)
		for _, name := range a.Grouping {
			delete(rest, name)
		}
		return rest
	}
	kept := set{}
	for _, name := range a.Grouping {
		kept[name] = below[name]
	}
	return kept
}

func (c *checker) combined(b *parser.BinaryExpr) set {
	left, right := c.labels(b.LHS), c.labels(b.RHS)
	switch {
	case b.LHS.Type() != parser.ValueTypeVector:
		return right
	case b.RHS.Type() != parser.ValueTypeVector:
		return left
	}
	for _, name := range b.VectorMatching.MatchingLabels {
		if !left[name] || !right[name] {
			c.complain("it is matched on %s, which is no label of both sides of %s", name, b)
		}
	}
	if b.Op == parser.LOR { // labels of both sides
		maps.DeleteFunc(left, func(name string, _ bool) bool { return !right[name] })
	}
	return left
}

func (c *checker) called(call *parser.Call) set {
	found := set{}
	for _, arg := range call.Args {
		maps.Copy(found, c.labels(arg))
	}
	switch call.Func.Name {
	case "label_replace", "label_join":
		if made, ok := call.Args[1].(*parser.StringLiteral); ok {
			found[made.Val] = true
		}
	case "histogram_quantile":
		if !found["le"] {
			c.complain("%s has no buckets", call)
		}
		delete(found, "le")
	case "absent", "scalar":
		return set{}
	}
	return found
}

func keys(metric map[string]set) set {
	found := set{}
	for name := range metric {
		found[name] = true
	}
	return found
}
