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
	exception.ProblemUnknownVersion,
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
	says   *regexp.Regexp // the finding's message; nil for any
}

func (s *stricter) key() string {
	key := s.reason
	if s.path != nil {
		key += " at " + s.path.String()
	}
	if s.says != nil {
		key += " that says " + s.says.String()
	}
	return key
}

func (s *stricter) permits(f shape.Finding) bool {
	return s.reason == f.Reason && (s.path == nil || s.path.MatchString(f.Path.String())) && (s.says == nil || s.says.MatchString(f.Message))
}

var conditionText = regexp.MustCompile(`^spec\.matchConditions\[[0-9]+\]\.expression$`)

// strictness are all such ways. One that no sample needs fails the test.
var strictness = []stricter{
	{reasonSyntax, nil, "the API server reads it, and others read it differently or not at all, such as a reviewer", nil},
	{exception.ProblemInvalidValue, regexp.MustCompile(`^spec\.conditions\.(any|all)\[[0-9]+\]\.(key|value)`), "a whole number that is written as a fraction comes back as an integer", nil},
	{exception.ProblemInvalidValue, regexp.MustCompile(`^spec\.expiresAt$`), "the end is read by several tools, and RFC 3339 is what all of them read alike; before 1970 there was no exception", nil},
	{exception.ProblemNullValue, nil, "the API server drops the null, so that the live object would differ from the signed one", nil},
	{exception.ProblemUnsignableField, nil, "the API server or a controller sets it, and nothing vouches for it", nil},
	{exception.ProblemEmptyValue, regexp.MustCompile(`^metadata\.(labels|annotations)$`), "the API server drops the empty mapping, so that the live object would differ from the signed one", nil},
	{exception.ProblemEmptyValue, regexp.MustCompile(`^metadata\.namespace$`), "as for a namespace that is missing", nil},
	{exception.ProblemMissingField, regexp.MustCompile(`^metadata\.namespace$`), "the namespace would come from who applies it, not from what was reviewed", nil},
	{shape.ReasonNamesNothing, nil, "the servers keep an exception from nothing, until somebody fills it", nil},
	{shape.ReasonBadSelector, regexp.MustCompile(`\.namespaceSelector`), "Kyverno looks at it only when it matches, and then nothing matches, or anything", nil},
	{shape.ReasonBadSelector, regexp.MustCompile(`\.selector\.matchExpressions`), "Kyverno looks at none that has a pattern in matchLabels, and then nothing matches", nil},
	{shape.ReasonUnknownPolicyKind, nil, "the servers keep it, and nothing is exempt", nil},
	{shape.ReasonBadExpression, conditionText, "it is longer than polex reads: whoever may write exceptions may not choose how long reading one takes", regexp.MustCompile("it has [0-9]+ characters, and 10240 are allowed$")},
	{shape.ReasonBadExpression, conditionText, "it is nested deeper than polex reads: some that are still admitted take Kyverno's webhook seconds", regexp.MustCompile("recursion (limit|depth) exceeded")},
	{shape.ReasonBadExpression, conditionText, "it ends in a comment, and Kyverno would write a parenthesis behind it in a policy that it generates", regexp.MustCompile("^the condition ends in a comment")},
}

// stricterBy returns the entry that permits a finding, or nil.
func stricterBy(f shape.Finding) *stricter {
	for i := range strictness {
		if strictness[i].permits(f) {
			return &strictness[i]
		}
	}
	return nil
}
