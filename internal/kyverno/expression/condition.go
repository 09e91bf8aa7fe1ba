package expression

import "strings"

// Condition is a compiled match condition.
type Condition struct {
	Text    string
	Problem error // the error of compiling it
	// EndsInComment means that the text ends in a comment. Kyverno copies each condition between
	// "!(" and ")" into a generated admission policy (pkg/admissionpolicy/builder.go of 1.19.1),
	// and the comment would hide the parenthesis. Any other condition that compiles keeps its
	// meaning.
	EndsInComment bool
}

// Compile compiles a condition within the budget.
func (l *Language) Compile(text string, work *Compiling) *Condition {
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
