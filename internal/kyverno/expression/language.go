package expression

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/cel-go/cel"
)

// Language is the CEL environment of match conditions. It is safe for concurrent use.
type Language struct{ env *cel.Env }

// The limits are counts and not times, so every machine rejects the same expressions.
const (
	maxText  = 10_240 // characters of an expression
	maxDepth = 100    // of nesting
)

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

// check compiles an expression that has to be a bool. The error is for people and quotes parts of
// the expression.
func (l *Language) check(text string, work *Compiling) error {
	if n := len([]rune(text)); n > maxText {
		return fmt.Errorf("it has %d characters, and %d are allowed", n, maxText)
	}
	if err := work.take(parsingCharacter * len(text)); err != nil {
		return err
	}
	parsed, issues := l.env.Parse(text)
	if issues.Err() != nil {
		return described(issues)
	}
	if err := work.take(checkingWork(parsed.NativeRep().Expr())); err != nil {
		return err
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
