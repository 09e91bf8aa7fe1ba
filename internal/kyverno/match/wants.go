package match

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// Want is what a condition asks of a field: that its text fits one of the
// patterns. It is what a resource is made up of, which then is tried.
type Want struct{ field, patterns []string }

// Wants reads what has to be there for an expression to be true, as far as it is
// plainly written: of two that are joined by "||", the first.
func Wants(e ast.Expr, of map[string]string) []Want {
	switch e.Kind() {
	case ast.SelectKind:
		if e.AsSelect().IsTestOnly() {
			return wanted(append(steps(e.AsSelect().Operand(), of), e.AsSelect().FieldName()), "*")
		}
	case ast.ComprehensionKind:
		if name, subject, body := soleElement(e.AsComprehension()); name != "" {
			return Wants(body, renamed(of, name, subject))
		}
	case ast.CallKind:
		return wantsOfCall(e.AsCall(), of)
	}
	return nil
}

func wantsOfCall(call ast.CallExpr, of map[string]string) []Want {
	args := call.Args()
	if call.IsMemberFunction() && len(args) == 1 {
		text, ok := literalText(args[0])
		around, known := map[string]func(string) string{
			"startsWith": func(s string) string { return s + "*" },
			"endsWith":   func(s string) string { return "*" + s },
			"contains":   func(s string) string { return "*" + s + "*" },
		}[call.FunctionName()]
		if ok && known {
			return wanted(steps(call.Target(), of), around(text))
		}
		return nil
	}
	switch call.FunctionName() {
	case operators.LogicalAnd:
		return slices.Concat(Wants(args[0], of), Wants(args[1], of))
	case operators.LogicalOr:
		return Wants(args[0], of)
	case operators.In:
		if key, ok := literalText(args[0]); ok {
			return wanted(append(steps(args[1], of), key), "*")
		}
	}
	if field, texts := comparedIn(call); field != nil {
		return wanted(steps(field, of), texts...)
	}
	return nil
}

// wanted leaves out what is no field of a variable.
func wanted(field []string, patterns ...string) []Want {
	if len(field) < 2 || field[0] == "" || len(patterns) == 0 {
		return nil
	}
	return []Want{{field, patterns}}
}

// steps are the way to a field, from a variable on: "" at the beginning for
// anything else.
func steps(e ast.Expr, of map[string]string) []string {
	switch e.Kind() {
	case ast.IdentKind:
		return []string{of[e.AsIdent()]}
	case ast.SelectKind:
		return append(steps(e.AsSelect().Operand(), of), e.AsSelect().FieldName())
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
			if key, ok := literalText(call.Args()[1]); ok {
				return append(steps(call.Args()[0], of), key)
			}
		case "orValue":
			return steps(call.Target(), of)
		}
	}
	return []string{""}
}

// CommonWants returns for each field that is wanted a text that all wants of it take,
// by the field's steps, or false where it finds none.
func CommonWants(work *wildcard.Meter, all []Want) (map[string]string, bool) {
	texts := map[string]string{}
	patterns := map[string][]string{}
	for _, w := range all {
		key := strings.Join(w.field, "\x00")
		if before, asked := patterns[key]; asked {
			w.patterns = meetings(work, before, w.patterns)
		}
		if len(w.patterns) == 0 || work.Spent() {
			return nil, false
		}
		patterns[key] = w.patterns
	}
	for key, fitting := range patterns {
		texts[key] = wildcard.Filled(fitting[0])
	}
	return texts, true
}

// meetings returns texts that fit a pattern of each side.
func meetings(work *wildcard.Meter, some, others []string) []string {
	var found []string
	for _, a := range some {
		for _, b := range others {
			if text, fits := work.Common(a, b); fits {
				found = append(found, text)
			}
			if work.Spent() {
				return nil
			}
		}
	}
	return found
}
