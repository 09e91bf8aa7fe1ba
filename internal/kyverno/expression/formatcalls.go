package expression

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// formatCalls checks the arguments of a constant format, such as '%d'.format([1]), as package ext does.
type formatCalls struct{}

// Name is part of [cel.ASTValidator].
func (formatCalls) Name() string { return "cel.validator.string_format" }

// Configure lets the list of arguments have values of several types.
func (formatCalls) Configure(c cel.MutableValidatorConfig) error {
	return c.Set(cel.HomogeneousAggregateLiteralExemptFunctions, []string{"format"})
}

// Validate is part of [cel.ASTValidator].
func (formatCalls) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	for _, e := range ast.MatchDescendants(ast.NavigateAST(a), ast.FunctionMatcher("format")) {
		call := e.AsCall()
		if !call.IsMemberFunction() || len(call.Args()) != 1 || call.Target().Kind() != ast.LiteralKind {
			continue
		}
		text, isText := call.Target().AsLiteral().(types.String)
		args := call.Args()[0]
		if !isText || args.Kind() != ast.ListKind {
			continue
		}
		if err := checkFormat(a, string(text), args.AsList().Elements()); err != nil {
			issues.ReportErrorAtID(e.ID(), "%v", err)
		}
	}
}

// clause matches a percent sign with the precision and the verb behind it.
var clause = regexp.MustCompile(`(?s)%(\.[0-9]*)?(.?)`)

// formatted lists the kinds of values that each verb takes.
var formatted = map[string][]types.Kind{
	"s": {
		types.ListKind, types.MapKind, types.IntKind, types.UintKind, types.DoubleKind, types.BoolKind,
		types.StringKind, types.TimestampKind, types.BytesKind, types.DurationKind, types.TypeKind, types.NullTypeKind,
	},
	"d": {types.IntKind, types.UintKind},
	"o": {types.IntKind, types.UintKind},
	"f": {types.DoubleKind, types.StringKind},
	"e": {types.DoubleKind, types.StringKind},
	"b": {types.IntKind, types.UintKind, types.BoolKind},
	"x": {types.IntKind, types.UintKind, types.StringKind, types.BytesKind},
	"X": {types.IntKind, types.UintKind, types.StringKind, types.BytesKind},
}

func checkFormat(a *ast.AST, text string, args []ast.Expr) error {
	used := 0
	for _, m := range clause.FindAllStringSubmatch(text, -1) {
		precision, verb := m[1], m[2]
		if precision == "" && verb == "%" {
			continue
		}
		if precision != "" {
			if _, err := strconv.Atoi(precision[1:]); err != nil {
				return fmt.Errorf("the precision of %q is not a number", m[0])
			}
		}
		kinds, known := formatted[verb]
		switch {
		case !known:
			return fmt.Errorf("unrecognized formatting clause %q", m[0])
		case used == len(args):
			return fmt.Errorf("%q has no argument", m[0])
		}
		if bad := notFormatted(a, args[used], kinds, verb == "s"); bad != "" {
			return fmt.Errorf("%q was given %s", m[0], bad)
		}
		used++
	}
	if len(args) > used {
		return fmt.Errorf("too many arguments supplied to string.format (expected %d, got %d)", used, len(args))
	}
	return nil
}

// notFormatted returns the type of the value that a verb does not take, or "". within: also in a list or a map.
func notFormatted(a *ast.AST, e ast.Expr, kinds []types.Kind, within bool) string {
	if t := a.GetType(e.ID()); t.Kind() != types.DynKind && !slices.Contains(kinds, t.Kind()) {
		return t.TypeName()
	}
	if !within {
		return ""
	}
	var parts []ast.Expr
	switch e.Kind() {
	case ast.ListKind:
		parts = e.AsList().Elements()
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			parts = append(parts, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
	}
	for _, part := range parts {
		if bad := notFormatted(a, part, kinds, true); bad != "" {
			return bad
		}
	}
	return ""
}
