package expression

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
)

// Language is a CEL environment that limits the cost of expressions. It is safe for concurrent use.
type Language struct {
	env    *cel.Env
	limits Limits
}

// Limits are counts and not times, so every machine rejects the same expressions.
type Limits struct {
	Text  int    // characters of an expression
	Depth int    // of nesting
	Cost  uint64 // of one evaluation, in CEL's measure
}

// New returns a language of bool expressions. The options add declarations to those of CEL.
func New(l Limits, options ...cel.EnvOption) (*Language, error) {
	env, err := cel.NewEnv(append([]cel.EnvOption{
		cel.ParserExpressionSizeLimit(l.Text + 1), // Predicate checks the limit; see endsInComment
		cel.ParserRecursionLimit(l.Depth),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
	}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("set up CEL: %w", err)
	}
	return &Language{env, l}, nil
}

// Predicate compiles an expression that has to be a bool. The error is for people and quotes parts
// of the expression.
func (l *Language) Predicate(text string, work *Compiling) (*ast.AST, error) {
	if n := len([]rune(text)); n > l.limits.Text {
		return nil, fmt.Errorf("it has %d characters, and %d are allowed", n, l.limits.Text)
	}
	if err := work.take(parsingCharacter * len(text)); err != nil {
		return nil, err
	}
	parsed, issues := l.env.Parse(text)
	if issues.Err() != nil {
		return nil, described(issues)
	}
	if err := work.take(checkingWork(parsed.NativeRep().Expr())); err != nil {
		return nil, err
	}
	if err := checkPatterns(parsed.NativeRep().Expr()); err != nil {
		return nil, err
	}
	checked, issues := l.env.Check(parsed)
	if issues.Err() != nil {
		return nil, described(issues)
	}
	if !checked.OutputType().IsExactType(cel.BoolType) {
		return nil, fmt.Errorf("it is of type %s, and a bool is needed: compare it with something", checked.OutputType())
	}
	return checked.NativeRep(), nil
}

// maxIssues limits the number of reported CEL errors for one expression.
const maxIssues = 3

var endOfInput = regexp.MustCompile(`(mismatched|extraneous) input '<EOF>'`)

func described(issues *cel.Issues) error {
	var told []string
	for i, e := range issues.Errors() {
		if i == maxIssues {
			told = append(told, fmt.Sprintf("and %d more", len(issues.Errors())-maxIssues))
			break
		}
		message, _, _ := strings.Cut(e.Message, " (in container")
		message, _, _ = strings.Cut(message, " expecting {") // a list of all tokens
		message = endOfInput.ReplaceAllLiteralString(message, "the expression ends too early")
		if e.Location.Line() > 0 {
			told = append(told, fmt.Sprintf("%d:%d: %q", e.Location.Line(), max(e.Location.Column(), 0)+1, Shortened(message)))
		} else {
			told = append(told, fmt.Sprintf("%q", Shortened(message)))
		}
	}
	if len(told) == 0 {
		return fmt.Errorf("%q", Shortened(issues.Err().Error()))
	}
	return errors.New(strings.Join(told, ", "))
}

// Shortened cuts a text that is too long to display.
func Shortened(s string) string {
	const most = 200
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
