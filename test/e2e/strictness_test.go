//go:build e2e

package e2e

import (
	"regexp"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// reasonSyntax is what cannot be read as strictly as polex reads.
const reasonSyntax = "syntax"

// mirrored are the findings beyond the schema that speak of what the servers
// decide, not of what polex asks on top.
var mirrored = []string{
	shape.ReasonBadExpression,
	shape.ReasonNotAnException,
	shape.ReasonNamesNothing,
	shape.ReasonBackgroundUserInfo,
	shape.ReasonBadUserInfo,
	shape.ReasonBadSelector,
	shape.ReasonBadPodSecurity,
	shape.ReasonUnknownPolicyKind,
}

// stricter is one way in which polex may refuse what the servers admit.
type stricter struct {
	reason string
	path   *regexp.Regexp // of the finding; nil for any
	why    string
}

func (s *stricter) key() string {
	if s.path == nil {
		return s.reason
	}
	return s.reason + " at " + s.path.String()
}

// strictness are all such ways. One that no sample needs fails the test.
var strictness = []stricter{
	{reasonSyntax, nil, "the API server reads it, and others read it differently or not at all, such as a reviewer"},
	{exception.ProblemInvalidValue, regexp.MustCompile(`^spec\.conditions\.(any|all)\[[0-9]+\]\.(key|value)`), "a whole number that is written as a fraction comes back as an integer"},
	{exception.ProblemNullValue, nil, "the API server drops the null, so that the live object would differ from the signed one"},
	{exception.ProblemUnsignableField, nil, "the API server or a controller sets it, and nothing vouches for it"},
	{exception.ProblemEmptyValue, regexp.MustCompile(`^metadata\.(labels|annotations)$`), "the API server drops the empty mapping, so that the live object would differ from the signed one"},
	{exception.ProblemEmptyValue, regexp.MustCompile(`^metadata\.namespace$`), "as for a namespace that is missing"},
	{exception.ProblemMissingField, regexp.MustCompile(`^metadata\.namespace$`), "the namespace would come from who applies it, not from what was reviewed"},
	{shape.ReasonNamesNothing, nil, "the servers keep an exception from nothing, until somebody fills it"},
	{shape.ReasonBadSelector, regexp.MustCompile(`\.namespaceSelector`), "Kyverno looks at it only when it matches, and then nothing matches, or anything"},
	{shape.ReasonBadSelector, regexp.MustCompile(`\.selector\.matchExpressions`), "Kyverno looks at none that has a pattern in matchLabels, and then nothing matches"},
	{shape.ReasonUnknownPolicyKind, nil, "the servers keep it, and nothing is exempt"},
}

// stricterBy returns the entry that permits a finding, or nil.
func stricterBy(f shape.Finding) *stricter {
	for i := range strictness {
		s := &strictness[i]
		if s.reason == f.Reason && (s.path == nil || s.path.MatchString(f.Path.String())) {
			return s
		}
	}
	return nil
}
