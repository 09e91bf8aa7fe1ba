//go:build e2e

package e2e

import (
	"regexp"

	"github.com/polex-dev/polex/internal/kyverno/schema"
	"github.com/polex-dev/polex/pkg/shape"
)

// reasonSyntax is for documents that polex's strict reader rejects.
const reasonSyntax = "syntax"

// mirrored are the findings, besides those of the schema, about properties that the servers check
// too.
var mirrored = []string{
	schema.UnknownVersion,
	shape.ReasonBadExpression,
	shape.ReasonNotAnException,
	shape.ReasonNamesNothing,
	shape.ReasonBackgroundUserInfo,
	shape.ReasonBadUserInfo,
	shape.ReasonBadSelector,
	shape.ReasonBadPodSecurity,
	shape.ReasonUnknownPolicyKind,
}

// stricter is one way in which polex rejects documents that the servers admit.
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

// strictness lists all of them. The test fails if no sample needs an entry.
var strictness = []stricter{
	{reasonSyntax, nil, "the API server accepts it, but a reviewer or another YAML reader reads it differently or not at all", nil},
	{schema.InvalidValue, regexp.MustCompile(`^spec\.conditions\.(any|all)\[[0-9]+\]\.(key|value)`), "the API server returns a whole number that is written as a fraction as an integer", nil},
	{schema.InvalidValue, regexp.MustCompile(`^spec\.expiresAt$`), "several tools read the expiry, and all of them read RFC 3339 alike; no exception is older than 1970", nil},
	{schema.NullValue, nil, "the API server drops the null, so the live object would differ from the signed one", nil},
	{schema.UnsignableField, nil, "the API server or a controller sets the field, not the author", nil},
	{schema.EmptyValue, regexp.MustCompile(`^metadata\.(labels|annotations)$`), "the API server drops the empty mapping, so the live object would differ from the signed one", nil},
	{schema.EmptyValue, regexp.MustCompile(`^metadata\.namespace$`), "the same as for a missing namespace", nil},
	{schema.MissingField, regexp.MustCompile(`^metadata\.namespace$`), "the deployer would choose the namespace, not the reviewed file", nil},
	{shape.ReasonNamesNothing, nil, "the servers store an exception without a policy, and somebody can add one later", nil},
	{shape.ReasonBadSelector, regexp.MustCompile(`\.namespaceSelector`), "Kyverno checks the selector only when it matches a resource; an invalid one then matches nothing or everything", nil},
	{shape.ReasonBadSelector, regexp.MustCompile(`\.selector\.matchExpressions`), "Kyverno does not check the expressions if matchLabels has a pattern; the selector then matches nothing", nil},
	{shape.ReasonUnknownPolicyKind, nil, "the servers store the exception, but it exempts nothing", nil},
	{shape.ReasonBadExpression, conditionText, "it is longer than polex reads; otherwise the author of an exception could make polex read for any length of time", regexp.MustCompile("it has [0-9]+ characters, and 10240 are allowed$")},
	{shape.ReasonBadExpression, conditionText, "it is nested deeper than polex reads; some deep expressions that the servers admit take Kyverno's webhook seconds", regexp.MustCompile("recursion (limit|depth) exceeded")},
	{shape.ReasonBadExpression, conditionText, "it ends in a comment, and Kyverno appends a parenthesis to it in the policies that it generates", regexp.MustCompile("^the condition ends in a comment")},
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
