package shape

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/expression"
	"github.com/polex-dev/polex/internal/kyverno/schema"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Reasons of findings.
const (
	ReasonBadExpression   = "bad-expression"
	ReasonMayFail         = "may-fail"
	ReasonNotProvenNarrow = "not-proven-narrow"
	reasonWider           = "wider-than-written"
)

// matchCondition is one match condition of a policies.kyverno.io exception.
type matchCondition struct {
	*expression.Condition
	path exception.Path
}

// conditions returns the compiled match conditions of a policies.kyverno.io exception, up to the
// maximum number. badExpression reports the others.
func (s *subject) conditions() []matchCondition {
	if s.compiled != nil {
		return s.compiled
	}
	work := expression.NewMeter()
	for _, c := range expressions(s.Exception) {
		s.compiled = append(s.compiled, matchCondition{s.language.Compile(c.Text, work), c.Path})
	}
	return s.compiled
}

// expressions returns the text of the match conditions that Kubernetes accepts.
func expressions(e *kyverno.Exception) []kyverno.Located {
	var found []kyverno.Located
	for _, c := range e.Conditions[:min(len(e.Conditions), kyverno.MaxConditions)] {
		if c.IsText {
			found = append(found, c.Expression)
		}
	}
	return found
}

// whereConditions returns the path for a finding about all conditions.
func (s *subject) whereConditions() exception.Path {
	if len(s.compiled) == 1 {
		return s.compiled[0].path
	}
	return s.ScopePath
}

var badExpressionCheck = check{
	About: "Finds a match condition that Kyverno rejects or that nobody could review:\n\n" +
		"- the expression does not compile to a bool with Kyverno's variables, is too long or too deep, or ends " +
		"in a comment;\n" +
		"- the name of the condition is invalid or used twice;\n" +
		"- the exception has more conditions than Kubernetes allows.\n\n" +
		"Where Kyverno's webhook is off, such a condition breaks its policy.",
	Reasons: []Reason{{Name: ReasonBadExpression, Doc: "a match condition is not a CEL expression that Kyverno accepts",
		Fixed: true}},
	Run: func(s *subject) {
		if n := len(s.Conditions); n > kyverno.MaxConditions {
			s.find(ReasonBadExpression, s.ScopePath, "split the exception, or join conditions with &&",
				"the exception has %d match conditions, and Kubernetes allows %d", n, kyverno.MaxConditions)
		}
		for _, c := range s.conditions() {
			switch {
			case c.EndsInComment:
				s.find(ReasonBadExpression, c.path, "move the comment to a line above the condition",
					"the condition ends in a comment: Kyverno appends a parenthesis in the admission policies that it "+
						"generates, and the comment swallows it")
			case c.Problem != nil && c.Text != "": // an empty one is for the schema
				s.find(ReasonBadExpression, c.path, conditionHint(c.Problem.Error()),
					"the condition does not compile: %s", c.Problem)
			}
		}
		s.conditionNames()
	},
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
			s.find(ReasonBadExpression, at, "give each condition its own name",
				"conditions %d and %d are both named %q", before+1, i+1, name)
		case !exception.IsQualifiedName(name):
			s.find(ReasonBadExpression, at, "use letters, digits, - and _, e.g. only-web",
				"%q is not a valid name for a condition", expression.Shortened(name))
		}
		if _, used := first[name]; !used {
			first[name] = i
		}
	}
}

var conditionsMatchEverythingCheck = check{
	Title: "Match conditions",
	About: "Finds a policies.kyverno.io exception without match conditions, or with conditions that select every " +
		"resource or every resource of a kind.\n\n" +
		"Conditions are narrow if one of them, or one of its parts between `&&`, compares the name or the " +
		"namespace with literals. They are also narrow if they compare the kind and a label. polex evaluates " +
		"no condition, and recognises [these forms](guard.md#match-conditions). Other forms are " +
		"`not-proven-narrow`: a warning, and an error in the preset strict.",
	Reasons: []Reason{{Name: ReasonNotProvenNarrow,
		Doc:      "polex does not recognise the form of the match conditions, and they may select any resource",
		Severity: Warning}},
	Run: func(s *subject) {
		if s.ByMatch || s.isFound(schema.WrongType, s.whereConditions()) {
			return
		}
		conditions := s.conditions()
		if len(conditions) == 0 {
			s.find(ReasonMatchesEverything, s.ScopePath,
				`add a condition, e.g. object.metadata.namespace == "team-a" && object.metadata.name == "web"`,
				"the exception has no match conditions, so it exempts every resource from its policies")
			return
		}
		texts, constant := make([]string, len(conditions)), false
		for i, c := range conditions {
			texts[i] = c.Text
			if c.Problem != nil {
				return // for another check
			}
			if !kyverno.Mentions(c.Text) {
				s.find(ReasonMatchesEverything, c.path, "remove it, or compare the name or the namespace",
					"the condition %q does not depend on the resource", expression.Shortened(c.Text))
				constant = true
			}
		}
		if constant {
			return
		}
		switch kyverno.WidthOf(texts) {
		case kyverno.Wide:
			s.find(ReasonMatchesEverything, s.whereConditions(),
				"compare the name or the namespace, e.g. object.metadata.name == 'web' or "+
					"object.metadata.namespace in ['a', 'b']",
				"the match conditions select every resource, or every resource of a kind")
		case kyverno.AnyKind:
			s.find(ReasonMissingKinds, s.whereConditions(), "add the kind, e.g. object.kind == 'Pod'",
				"these conditions restrict only labels, so they exempt every kind that the policy covers")
		case kyverno.Unproven:
			s.find(ReasonNotProvenNarrow, s.whereConditions(),
				"compare the name or the namespace with literals, e.g. object.metadata.name == 'web' or "+
					"object.metadata.namespace in ['a', 'b']; or compare the kind and a label",
				"polex does not recognise how the match conditions restrict the resources")
		}
	},
}

var mayFailCheck = check{
	About: "Finds a match condition that reads a label, an annotation or a field that not every object has, or an " +
		"object that not every operation has. Kyverno then denies objects that obey the policy.",
	Reasons: []Reason{{Name: ReasonMayFail, Doc: "a match condition is an error for other objects", Severity: Warning}},
	Run: func(s *subject) {
		if s.counts[ReasonReachesGuard] > 0 || s.isFound(ReasonNeverMatches, s.whereConditions()) {
			return
		}
		var targets []kyverno.Target
		if s.config.Policies != nil {
			for _, ref := range s.Refs {
				for _, p := range s.config.Policies.Find(ref) {
					targets = append(targets, p.Targets(wildcard.NewMeter(), nil)...)
				}
			}
		}
		message, hint := s.MayFail(targets)
		ignored := func(kind string) bool { return kind == "DeletingPolicy" || kind == "NamespacedDeletingPolicy" }
		if message != "" && !slices.ContainsFunc(s.PolicyKinds(), ignored) {
			s.find(ReasonMayFail, s.whereConditions(), hint, "%s, and Kyverno then denies objects that obey the policy",
				message)
		}
	},
}

var widerCheck = check{
	About: "Finds what exempts more than it says. `&&` binds stronger than `||`, so an alternative may have no " +
		"namespace. A pattern may be read as a regular expression. Kyverno ignores an empty list, `operations` in " +
		"a filter, and `images` in an exception from an ImageValidatingPolicy or DeletingPolicy: the whole resource " +
		"is exempt, or after Kyverno 1.19.0 no image.",
	Reasons: []Reason{{Name: reasonWider, Doc: "the exception exempts more than it says", Severity: Warning}},
	Run: func(s *subject) {
		for _, f := range s.Match.Filters() {
			if len(f.Operations) > 0 {
				s.find(reasonWider, f.Path.With("resources").With("operations"), "remove operations",
					"Kyverno ignores operations in an exception: this one holds for every "+"operation")
			}
			for _, field := range []string{"names", "namespaces"} { // no kinds are missing-kinds
				s.empty(f.Path.With("resources").With(field))
			}
		}
		s.empty(exception.Path{"spec", "images"})
		s.empty(exception.Path{"spec", "allowedValues"})
		for _, ref := range s.WholeRefs() {
			effect, hint := "the whole resource", "remove this policy from the exception"
			if kyverno.VerifiesImages(ref.Kind.Text) {
				effect = "the whole Pod up to 1.19.0, and nothing in later releases"
				hint += ", or use matchImageReferences of the policy"
			}
			s.find(reasonWider, ref.Path, hint, "the %s %q does not read images and allowedValues of exceptions: "+
				"Kyverno exempts %s", ref.Kind.Text, ref.Name.Text, effect)
		}
	},
}

// empty reports a list without entries, which restricts nothing.
func (s *subject) empty(path exception.Path) {
	if value, _ := s.Doc.Lookup(path...); value != nil {
		if list, is := value.([]any); is && len(list) == 0 {
			s.find(reasonWider, path, "fill the list, or remove it",
				"an empty list restricts nothing: Kyverno ignores it")
		}
	}
}
