package expression

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// Language is the CEL environment of match conditions. It is safe for concurrent use.
type Language struct{ env *cel.Env }

// The limits are counts and not times, so every machine rejects the same expressions.
const (
	maxText  = 10_240 // characters of an expression
	maxDepth = 100    // of nesting
)

// Kyverno 1.19 accepts a match condition of an exception if it compiles in the environment of Kubernetes 1.35 with four
// variables: object, oldObject, request and namespaceObject. It rejects the other variables and functions of policies
// (images, http, resource, variables, …). So does polex.
//
// cel-go provides its own part of that environment. declarations.txt has the functions of Kubernetes and of cel-go's
// package ext, declarations.go the macros of ext, and formatcalls.go its check of formats. Tests compare them with the
// originals, the module test/e2e/celpeer the whole.

// Variables returns the variables of a match condition.
func Variables() []string {
	return []string{"object", "oldObject", "request", "namespaceObject"}
}

// ForConditions returns the language of match conditions.
func ForConditions() (*Language, error) {
	options := []cel.EnvOption{
		cel.HomogeneousAggregateLiterals(),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals(),
			cel.ValidateHomogeneousAggregateLiterals(), formatCalls{}),
		macros(),
		cel.Variable("object", cel.DynType),
		cel.Variable("oldObject", cel.DynType),
		cel.Variable("request", cel.ObjectType("kubernetes.AdmissionRequest")),
		cel.Variable("namespaceObject", cel.ObjectType("kubernetes.Namespace")),
	}
	return newLanguage(append(options, declarations(declared)...)...)
}

// newLanguage returns a language of bool expressions. The options add declarations to those of CEL.
func newLanguage(options ...cel.EnvOption) (*Language, error) {
	env, err := cel.NewEnv(append([]cel.EnvOption{
		cel.ParserExpressionSizeLimit(maxText + 1), // check has the limit; see endsInComment
		cel.ParserRecursionLimit(maxDepth),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
	}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("set up CEL: %w", err)
	}
	return &Language{env}, nil
}

// Condition is a compiled match condition.
type Condition struct {
	Text    string
	Problem error // the error of compiling it
	// EndsInComment means that the text ends in a comment. Kyverno copies each condition between "!(" and ")" into a
	// generated admission policy (pkg/admissionpolicy/builder.go of 1.19.1), and the comment would hide the
	// parenthesis. Any other condition that compiles keeps its meaning.
	EndsInComment bool
}

// Compile compiles a condition within the budget.
func (l *Language) Compile(text string, work *wildcard.Meter) *Condition {
	c := &Condition{Text: text, Problem: l.check(text, work)}
	c.EndsInComment = c.Problem == nil && l.endsInComment(text)
	return c
}

// endsInComment reports whether a valid expression ends in a comment: only then does it parse with
// an extra parenthesis at its end.
func (l *Language) endsInComment(text string) bool {
	if line := text[strings.LastIndex(text, "\n")+1:]; !strings.Contains(line, "//") {
		return false
	}
	_, issues := l.env.Parse(text + ")")
	return issues.Err() == nil
}

// check compiles an expression that has to be a bool. The error is for people and quotes parts of the expression.
func (l *Language) check(text string, work *wildcard.Meter) error {
	if n := len([]rune(text)); n > maxText {
		return fmt.Errorf("it has %d characters, and %d are allowed", n, maxText)
	}
	if !work.Spend(parsingCharacter * len(text)) {
		return errWork
	}
	parsed, issues := l.env.Parse(text)
	if issues.Err() != nil {
		return described(issues)
	}
	if !work.Spend(checkingWork(parsed.NativeRep().Expr())) {
		return errWork
	}
	if err := checkPatterns(parsed.NativeRep().Expr()); err != nil {
		return err
	}
	checked, issues := l.env.Check(parsed)
	if issues.Err() != nil {
		return described(issues)
	}
	if !checked.OutputType().IsExactType(cel.BoolType) {
		return fmt.Errorf("it is of type %s, and a bool is needed: compare it with something", checked.OutputType())
	}
	return nil
}

// maxIssues limits the number of reported CEL errors for one expression.
const maxIssues = 3

var endOfInput = regexp.MustCompile(`(mismatched|extraneous) input '<EOF>'`)

func described(issues *cel.Issues) error {
	var problems []string
	for i, e := range issues.Errors() {
		if i == maxIssues {
			problems = append(problems, fmt.Sprintf("and %d more", len(issues.Errors())-maxIssues))
			break
		}
		message, _, _ := strings.Cut(e.Message, " (in container")
		message, _, _ = strings.Cut(message, " expecting {") // a list of all tokens
		message = endOfInput.ReplaceAllLiteralString(message, "the expression ends too early")
		message = strings.ReplaceAll(message, "expecting <EOF>", "after a whole expression")
		message = strings.ReplaceAll(message, "'<EOF>'", "its end")
		if e.Location.Line() > 0 {
			problems = append(problems, fmt.Sprintf("%d:%d: %q", e.Location.Line(), max(e.Location.Column(), 0)+1,
				Shortened(message)))
		} else {
			problems = append(problems, fmt.Sprintf("%q", Shortened(message)))
		}
	}
	if len(problems) == 0 {
		return fmt.Errorf("%q", Shortened(issues.Err().Error()))
	}
	return errors.New(strings.Join(problems, ", "))
}

// Shortened cuts a text that is too long to display.
func Shortened(s string) string {
	const most = 200
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// CEL's checker copies type parameters repeatedly. Its time is the number of parts of an expression times the number of
// parts with type parameters. Ten thousand characters can take seconds. Macros that repeat their operand, such as
// x.optMap(y, y).optMap(y, y), can take hours. So the work is computed before the check.

// NewMeter returns the work for all conditions of an exception. It is sufficient for 600
// comparisons in one expression, or a dozen of the longest expressions.
func NewMeter() *wildcard.Meter { return &wildcard.Meter{Left: 2_500_000} }

// parsingCharacter is the work to parse one character.
const parsingCharacter = 20

var errWork = errors.New("together with the text before it, it is too long to compile")

// checkingWork returns the work to check a parsed expression.
func checkingWork(e ast.Expr) int {
	parts, ofParameters := 0, 0
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		parts++
		switch e.Kind() {
		case ast.IdentKind, ast.SelectKind, ast.LiteralKind:
			return
		case ast.CallKind:
			switch e.AsCall().FunctionName() {
			case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot:
				return
			}
		}
		ofParameters++
	}))
	return parts * ofParameters
}

// A short pattern can be very large: (x{100}){10} compiles to a thousand x. The size determines the
// time to compile and match it. So the size is computed before the pattern is compiled.

// maxPatternSize limits the total size of the patterns of an expression. The Kubernetes pattern for
// a name, ([-a-z0-9]{0,61}[a-z0-9])?, has a size of about one hundred.
const maxPatternSize = 10_000

// expandedSize estimates the number of instructions of a compiled pattern.
func expandedSize(e *syntax.Regexp) int {
	n := 1
	if e.Op == syntax.OpLiteral {
		n = len(e.Rune)
	}
	for _, part := range e.Sub {
		n += expandedSize(part)
	}
	if e.Op == syntax.OpRepeat {
		n *= max(e.Min, e.Max, 1)
	}
	return n
}

// checkPatterns rejects an expression with constant patterns that are too large.
func checkPatterns(e ast.Expr) error {
	total := 0
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		switch call := e.AsCall(); call.FunctionName() {
		case "matches", "find", "findAll":
			for _, arg := range call.Args() {
				if arg.Kind() != ast.LiteralKind {
					continue
				}
				text, _ := arg.AsLiteral().(types.String)
				if parsed, err := syntax.Parse(string(text), syntax.Perl); err == nil && text != "" {
					total += expandedSize(parsed)
				}
			}
		}
	}))
	if total > maxPatternSize {
		return fmt.Errorf("its patterns have size %d with repetitions; at most %d is allowed", total, maxPatternSize)
	}
	return nil
}
