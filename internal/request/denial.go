package request

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
)

// The message of Kyverno 1.19.1 for a denied request, which kubectl, Flux and Argo CD repeat.
var (
	denialHead = regexp.MustCompile(`resource ([A-Za-z0-9]{1,63})/([^/\s]{0,63})/(\S{0,253}) was blocked due to the following policies:?`)
	// denialIntroduction is the text before the next denial.
	denialIntroduction = regexp.MustCompile(`[^\n]*denied the request:(?:\s|\\n)*$`)
	denialNew          = regexp.MustCompile(`\bPolicy (\S{1,253}) (?:failed|error): |\b([A-Z][A-Za-z0-9]{0,62})/(?:([^/\s]{1,63})/)?([^/\s]{1,253}) dry-run failed`)
	// Without line breaks, a name before another name is a policy, and a name before a message is a
	// rule. YAML quotes a message that contains ": ".
	oneLine     = regexp.MustCompile(`^\s*` + denialName + `\s+` + denialName + `(\s|$)`)
	oneLineKey  = regexp.MustCompile(`^\s*` + denialName + `(?:\s+('(?:[^']|'')*'|"(?:[^"\\]|\\.)*"))?(?:\s|$)`)
	oneLineNext = regexp.MustCompile(`\s` + denialName + `(\s|$)`)
)

const denialName = `([^\s:'"|>{\[]{1,253}):`

// FromDenial parses the message of Kyverno for denied requests:
//
//	resource Pod/team-a/web was blocked due to the following policies
//
//	require-probes:
//	  check: 'validation error: …'
//
// The message may have line breaks, no line breaks, or be a JSON string. For policies.kyverno.io it
// contains no resource ("Policy vp failed: …"). The resource is then about, which the caller knows
// from the request, or the resource in a preceding message of Flux. A message of another webhook
// gives no violation.
func FromDenial(text, file string, about Resource) ([]Violation, *Problem) {
	position := func(at int) exception.Position {
		return exception.Position{File: file, Line: 1 + strings.Count(text[:at], "\n"), Column: 1}
	}
	var found []Violation
	heads := denialHead.FindAllStringSubmatchIndex(text, MaxViolations)
	for i, m := range heads {
		v := Violation{Resource: Resource{Kind: text[m[2]:m[3]], Namespace: text[m[4]:m[5]], Name: text[m[6]:m[7]]}, Position: position(m[2])}
		if about.Kind == v.Resource.Kind && about.Namespace == v.Resource.Namespace && (v.Resource.Name == "" || about.Name == v.Resource.Name) {
			v.Resource = about // about also has the API group
		}
		list := text[m[1]:]
		if i+1 < len(heads) {
			list = list[:heads[i+1][0]-m[1]]
			list = list[:len(list)-len(denialIntroduction.FindString(list))]
		}
		before := text[strings.LastIndexByte(text[:m[0]], '\n')+1 : m[0]]
		read, err := blocked(list, strings.Contains(before, `\"`), v)
		if err == nil && len(read) == 0 && len(heads) > 1 {
			err = errors.New("no policy follows before the next resource")
		}
		if err != nil {
			return nil, &Problem{Reason: ReasonNotAReport, Violation: v, Message: "the policies that Kyverno lists cannot be read: " + err.Error(), Hint: "give the whole message of Kyverno, and nothing after it"}
		}
		found = append(found, read...)
	}
	if len(heads) > 0 {
		return found, nil
	}
	for _, m := range denialNew.FindAllStringSubmatchIndex(text, MaxViolations) {
		if m[2] >= 0 {
			message, _, _ := strings.Cut(text[m[1]:], "\n")
			found = append(found, Violation{Policy: text[m[2]:m[3]], Resource: about, Message: message, Position: position(m[0])})
			continue
		}
		said := Resource{Kind: text[m[4]:m[5]], Namespace: text[max(m[6], 0):max(m[7], 0)], Name: text[m[8]:m[9]]}
		if about.Kind != said.Kind || about.Namespace != said.Namespace || about.Name != said.Name {
			about = said
		}
	}
	return found, nil
}

// blocked parses the policies and rules of a denial. They are YAML, unless the line breaks are
// lost.
func blocked(text string, escaped bool, v Violation) ([]Violation, error) {
	for range 3 { // JSON in JSON
		if !escaped && !strings.HasPrefix(strings.TrimLeft(text, " "), `\`) {
			break
		}
		var err error
		if text, err = unescaped(text); err != nil {
			return nil, err
		}
		escaped = false
	}
	for line, rest, more := strings.Cut(text, "\n"); more && strings.TrimSpace(line) == ""; line, rest, more = strings.Cut(text, "\n") {
		text = rest
	}
	if line, _, _ := strings.Cut(text, "\n"); oneLine.MatchString(line) {
		return fromOneLine(line, v)
	}
	doc, err := exception.Parse([]byte(text), v.Position.File)
	if err != nil {
		return nil, err
	}
	var found []Violation
	var add func(policy string, rules map[string]any)
	add = func(policy string, rules map[string]any) {
		for _, rule := range sortedKeys(rules) {
			if inner, deeper := rules[rule].(map[string]any); deeper && policy == "policies" {
				add(rule, inner)
				continue
			}
			one := v
			one.Policy, one.Rule = policy, rule
			one.Message, _ = rules[rule].(string)
			found = append(found, one)
		}
	}
	object := doc.Object()
	for _, policy := range sortedKeys(object) {
		rules, _ := object[policy].(map[string]any)
		add(policy, rules)
	}
	return found, nil
}

// unescaped decodes a JSON string up to its end or the end of the line.
func unescaped(text string) (string, error) {
	var said string
	err := json.Unmarshal([]byte(`"`+jsonText.FindString(text)+`"`), &said)
	return said, err
}

var jsonText = regexp.MustCompile(`^(?:[^"\\\n]|\\.)*`)

// fromOneLine parses policies and rules without line breaks. It does not support names with spaces
// and messages of several lines.
func fromOneLine(line string, v Violation) ([]Violation, error) {
	var found []Violation
	policy := ""
	for {
		key := oneLineKey.FindStringSubmatch(line)
		if key == nil {
			return found, nil // the rest of a message
		}
		line = strings.TrimSpace(line[len(key[0]):])
		message := key[2]
		switch {
		case message == "" && oneLineKey.MatchString(line):
			policy = key[1]
			continue
		case message == "":
			end := len(line)
			if next := oneLineNext.FindStringIndex(line); next != nil {
				end = next[0]
			}
			message, line = line[:end], line[end:]
		}
		if policy == "" || message == "" || message[0] == '|' || message[0] == '>' {
			return nil, errors.New("without its line breaks, policies and rules cannot be told apart")
		}
		one := v
		one.Policy, one.Rule, one.Message = policy, key[1], message
		_ = yaml.Unmarshal([]byte(key[2]), &one.Message) // a quoted message; only for people
		found = append(found, one)
	}
}

func sortedKeys(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }
