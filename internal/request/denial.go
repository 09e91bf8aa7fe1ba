package request

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// What Kyverno 1.19.1 says when it denies a request, which kubectl repeats.
var (
	denialHead = regexp.MustCompile(`resource ([A-Za-z0-9]{1,63})/([^/\s]{0,63})/(\S{0,253}) was blocked due to the following policies`)
	denialNew  = regexp.MustCompile(`\bPolicy (\S{1,253}) (?:failed|error): `)
)

// FromDenial reads what Kyverno said when it denied a request:
//
//	resource Pod/team-a/web was blocked due to the following policies
//
//	require-probes:
//	  check: 'validation error: …'
//
// For policies of policies.kyverno.io it names no resource ("Policy vp failed: …"):
// about is what the request was for, and fills in what the message does not say.
// Denied by none of Kyverno's policies is no violation.
func FromDenial(text, file string, about Resource) ([]Violation, *Problem) {
	at := exception.Position{File: file, Line: 1, Column: 1}
	if m := denialHead.FindStringSubmatchIndex(text); m != nil {
		v := Violation{Resource: Resource{Kind: text[m[2]:m[3]], Namespace: text[m[4]:m[5]], Name: text[m[6]:m[7]]}}
		at.Line += strings.Count(text[:m[0]], "\n")
		if about.Kind == v.Resource.Kind && about.Namespace == v.Resource.Namespace && (v.Resource.Name == "" || about.Name == v.Resource.Name) {
			v.Resource = about // which knows the group
		}
		return blocked(text[m[1]:], v, at)
	}
	var found []Violation
	for _, m := range denialNew.FindAllStringSubmatchIndex(text, MaxViolations) {
		at := at
		at.Line += strings.Count(text[:m[0]], "\n")
		message, _, _ := strings.Cut(text[m[1]:], "\n")
		found = append(found, Violation{Policy: text[m[2]:m[3]], Resource: about, Message: message, Position: at})
	}
	return found, nil
}

// blocked reads the policies and rules of a denial, which are YAML.
func blocked(text string, v Violation, at exception.Position) ([]Violation, *Problem) {
	doc, err := exception.Parse([]byte(strings.TrimLeft(text, " \r\n")), at.File)
	if err != nil {
		v.Position = at
		return nil, &Problem{Reason: ReasonNotAReport, Violation: v, Message: "the policies that Kyverno lists cannot be read: " + err.Error(), Hint: "give all of what Kyverno said, and nothing behind it"}
	}
	var found []Violation
	object := doc.Object()
	for _, policy := range sortedKeys(object) {
		rules, _ := object[policy].(map[string]any)
		for _, rule := range sortedKeys(rules) {
			one := v
			one.Policy, one.Rule, one.Position = policy, rule, at
			one.Message, _ = rules[rule].(string)
			found = append(found, one)
		}
	}
	return found, nil
}

func sortedKeys(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }
