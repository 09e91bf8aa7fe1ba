package shape

import (
	"fmt"
	"regexp"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"

	"github.com/polex-dev/polex/internal/kyverno/expression"
	"github.com/polex-dev/polex/pkg/exception"
)

// Rule is a check of a team's own: a CEL expression that must be true for every exception.
//
// The expression is a predicate over two variables. "exception" is one view
// over both API groups (name, namespace, group, version, policies, reason,
// ticket, owner, category, expiresIn, expiresAt, labels, annotations; each of
// policies has name, kind and rules); a missing value is empty there.
// "object" is the document as it is written; a missing field is an error there,
// unless the rule tests it with has() first.
//
// An exception breaks a rule that cannot be evaluated on it. A further rule never makes
// another one less strict.
type Rule struct {
	Name       string // the reason of its findings, kebab-case
	Expression string // at most 10240 characters
	Message    string // shown if the expression is false; may be empty
	Severity   Severity
}

// compiledRule is a rule ready to be evaluated.
type compiledRule struct {
	Rule
	program *expression.Program
}

// ruleLimits are wider than those of conditions: the author of a rule is trusted, and
// a rule reads a whole document.
var ruleLimits = expression.Limits{Text: 10_240, Depth: 100, Cost: 1_000_000}

var ruleName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

const maxRuleName = 63

func compileRules(rules []Rule) ([]compiledRule, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	l, err := ruleLanguage()
	if err != nil {
		return nil, err
	}
	taken := map[string]string{}
	for _, r := range Reasons() {
		taken[r.Name] = "a check of polex's own"
	}
	compiled := make([]compiledRule, 0, len(rules))
	for i, r := range rules {
		if !ruleName.MatchString(r.Name) || len(r.Name) > maxRuleName {
			return nil, in(fmt.Errorf("rule %d: %q is not a valid name: use lower-case words joined by dashes, e.g. no-friday", i+1, expression.Shortened(r.Name)), "rules", i)
		}
		if by, ok := taken[r.Name]; ok {
			return nil, in(fmt.Errorf("rule %d: %q is already the name of %s", i+1, r.Name, by), "rules", i)
		}
		taken[r.Name] = fmt.Sprintf("rule %d", i+1)
		if r.Severity != Error && r.Severity != Warning {
			return nil, fmt.Errorf("rule %q: severity %d is neither Error nor Warning", r.Name, r.Severity)
		}
		if r.Expression == "" {
			return nil, in(fmt.Errorf("rule %q has no expression", r.Name), "rules", i)
		}
		checked, err := l.Predicate(r.Expression, expression.NewCompiling())
		if err != nil {
			return nil, in(fmt.Errorf("rule %q does not compile: %w", r.Name, err), "rules", i, "expression")
		}
		planned, err := l.Plan(checked)
		if err != nil {
			return nil, in(fmt.Errorf("rule %q cannot be evaluated: %w", r.Name, err), "rules", i, "expression")
		}
		compiled = append(compiled, compiledRule{r, planned})
	}
	return compiled, nil
}

func ruleLanguage() (*expression.Language, error) {
	return expression.New(ruleLimits,
		ext.Strings(), ext.Sets(), ext.Lists(), ext.Math(),
		expression.WithStructures(viewStructures()),
		cel.Variable("object", cel.DynType),
		cel.Variable("exception", cel.ObjectType(viewType)),
	)
}

// customRules evaluates the rules of the configuration.
func (s *subject) customRules() {
	if len(s.rules) == 0 {
		return
	}
	variables := map[string]any{"object": s.Doc.Object(), "exception": s.view()}
	for i := range s.rules {
		r := &s.rules[i]
		f := Finding{Reason: r.Name, Severity: r.Severity, Path: exception.Path{}, Message: r.Message}
		switch value, _, err := r.program.Eval(variables); {
		case err != nil:
			f.Message = fmt.Sprintf("the rule %s cannot be evaluated on this exception: %q", r.Name, expression.Shortened(err.Error()))
			f.Hint = "add the field that the rule reads, or begin the rule with a test such as has(object.spec.x) && …"
		case value == types.True:
			continue
		case f.Message == "":
			f.Message = fmt.Sprintf("the exception breaks the rule %s", r.Name)
			f.Hint = "the rule requires " + expression.Shortened(r.Expression)
		}
		s.add(f)
	}
}
