package request

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// Lines in the output of "kyverno apply" 1.19.1, without colours.
var (
	applyHead = regexp.MustCompile(`^policy (\S{1,300}) -> resource (?:(\S{1,63})/)?(\S{1,63})/(\S{1,253}) failed:$`)
	applyRule = regexp.MustCompile(`^(\d{1,4}) - (\S{0,63}) (.*)$`)
	colour    = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")
)

// FromApply parses violations from the output of "kyverno apply" 1.19.1:
//
//	policy require-probes -> resource team-a/Deployment/web failed:
//	1 - autogen-check validation error: …
//
// The output contains neither the API group of a resource nor the kind of a policy. Kinds other
// than Pods and their controllers therefore need manifests, and most need the policies. A message
// of several lines can imitate violations; a report does not have this weakness. A text without
// violations gives none. More than [MaxViolations] is a problem.
func FromApply(text, file string) ([]Violation, *Problem) {
	var violations []Violation
	var head *Violation
	next := 1
	for i, line := range strings.Split(text, "\n") {
		line = colour.ReplaceAllString(strings.TrimSuffix(line, "\r"), "")
		at := exception.Position{File: file, Line: i + 1, Column: 1}
		if m := applyHead.FindStringSubmatch(line); m != nil {
			head, next = &Violation{Policy: m[1], Resource: Resource{Namespace: m[2], Kind: m[3], Name: m[4]}}, 1
			continue
		}
		if m := applyRule.FindStringSubmatch(line); m != nil && head != nil && m[1] == strconv.Itoa(next) {
			v := *head
			v.Rule, v.Message, v.Position = m[2], m[3], at
			violations = append(violations, v)
			next++
			if len(violations) > MaxViolations {
				return nil, problem(ReasonTooMany, v, "apply fewer policies at once",
					"there are more than %d violations", MaxViolations)
			}
			continue
		}
		if line == "" {
			head = nil
		}
	}
	return violations, nil
}
