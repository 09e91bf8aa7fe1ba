package shape

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/expression"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonBadExpression is a reason of findings.
const ReasonBadExpression = "bad-expression"

var badExpressionCheck = check{
	About: "Finds a match condition that Kyverno rejects or that nobody could review:\n\n" +
		"- the expression does not compile to a bool with Kyverno's variables, is too long or too deep, or ends " +
		"in a comment;\n" +
		"- the name of the condition is invalid or used twice;\n" +
		"- the exception has more conditions than Kubernetes allows.\n\n" +
		"Where Kyverno's webhook is off, such a condition breaks its policy.",
	Reasons: []Reason{{Name: ReasonBadExpression, Doc: "a match condition is not a CEL expression that Kyverno accepts",
		Fixed: true}},
	Run: (*subject).badExpression,
}

func (s *subject) badExpression() {
	if n := len(s.Conditions); n > kyverno.MaxConditions {
		s.find(ReasonBadExpression, s.ScopePath,
			fmt.Sprintf("the exception has %d match conditions, and Kubernetes allows %d", n, kyverno.MaxConditions),
			"split the exception, or join conditions with &&")
	}
	for _, c := range s.conditions() {
		switch {
		case c.EndsInComment:
			s.find(ReasonBadExpression, c.path,
				"the condition ends in a comment: Kyverno appends a parenthesis in the admission policies that it "+
					"generates, and the comment swallows it",
				"move the comment to a line above the condition")
		case c.Problem != nil && c.Text != "": // an empty one is for the schema
			s.find(ReasonBadExpression, c.path, "the condition does not compile: "+c.Problem.Error(),
				conditionHint(c.Problem.Error()))
		}
	}
	s.conditionNames()
}

var undeclared = regexp.MustCompile(`undeclared reference to '(\w+)'`)

func conditionHint(problem string) string {
	switch found := undeclared.FindStringSubmatch(problem); {
	case strings.Contains(problem, "token recognition error at: '= '"):
		return "compare with =="
	case strings.Contains(problem, "input 'and'") || strings.Contains(problem, "input 'or'"):
		return "write && and ||"
	case found != nil && found[1][0] >= 'A' && found[1][0] <= 'Z':
		return fmt.Sprintf("put a text in quotes: '%s'", found[1])
	case found != nil && exception.Nearest(found[1], expression.Variables()) != "":
		return exception.Nearest(found[1], expression.Variables())
	case found != nil:
		return "use only " + strings.Join(expression.Variables(), ", ") + " and the CEL functions of Kubernetes"
	}
	return `write a CEL expression that is true for the exempted resources, e.g. object.metadata.name == "web"`
}

func (s *subject) conditionNames() {
	first := map[string]int{}
	for i, c := range s.Conditions[:min(len(s.Conditions), kyverno.MaxConditions)] {
		name, at := c.Name.Text, c.Name.Path
		switch before, used := first[name]; {
		case name == "": // for the schema
			continue
		case used:
			s.find(ReasonBadExpression, at, fmt.Sprintf("conditions %d and %d are both named %q", before+1, i+1, name),
				"give each condition its own name")
		case !exception.IsQualifiedName(name):
			s.find(ReasonBadExpression, at, fmt.Sprintf("%q is not a valid name for a condition",
				expression.Shortened(name)), "use letters, digits, - and _, e.g. only-web")
		}
		if _, used := first[name]; !used {
			first[name] = i
		}
	}
}
