package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
)

// The message of Kyverno 1.19.1 for a denied request, which kubectl, Flux and Argo CD repeat.
var (
	denialHead = regexp.MustCompile(`resource ([A-Za-z0-9]{1,63})/([^/\s]{0,63})/(\S{0,253}) ` +
		`was blocked due to the following policies:?`)
	// denialIntroduction is the text before the next denial.
	denialIntroduction = regexp.MustCompile(`[^\n]*denied the request:(?:\s|\\n)*$`)
	denialNew          = regexp.MustCompile(`\bPolicy (\S{1,253}) (?:failed|error):\s|` +
		`\b([A-Z][A-Za-z0-9]{0,62})/(?:([^/\s]{1,63})/)?([^/\s]{1,253}) dry-run failed|` +
		`GroupVersionKind: \\?"/?([^",\s]{1,300}), Kind=([A-Za-z0-9]{1,63})\\?"(?:\s|\\n)+` +
		`Name: \\?"([^"\\]{1,253})\\?", Namespace: \\?"([^"\\]{0,63})`)
	// The lines of the list: a policy, a text of several lines, and a rule.
	policyLine = regexp.MustCompile(`^[^\s:]\S{0,253}:$`)
	blockText  = regexp.MustCompile(`: [|>][0-9+-]{0,2}$`)
	ruleLine   = regexp.MustCompile(`(?m)^  [^\s:]+(?: [^\s:]+)*: \S`)
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
// from the request, or the resource in a preceding message of Flux or kubectl. A message of another
// webhook gives no violation. Logs may add colours, and the same prefix to each line.
func FromDenial(text, file string, about Resource) ([]Violation, *Problem) {
	position := func(at int) exception.Position {
		return exception.Position{File: file, Line: 1 + strings.Count(text[:at], "\n"), Column: 1}
	}
	text = colour.ReplaceAllString(strings.ReplaceAll(text, "\r\n", "\n"), "")
	var violations []Violation
	heads := denialHead.FindAllStringSubmatchIndex(text, MaxViolations)
	for i, m := range heads {
		resource := Resource{Kind: text[m[2]:m[3]], Namespace: text[m[4]:m[5]], Name: text[m[6]:m[7]]}
		if about.Kind == resource.Kind && about.Namespace == resource.Namespace &&
			(resource.Name == "" || about.Name == resource.Name) {
			resource = about // about also has the API group
		}
		v := Violation{Resource: resource, Position: position(m[2])}
		list := text[m[1]:]
		if i+1 < len(heads) {
			list = list[:heads[i+1][0]-m[1]]
			list = list[:len(list)-len(denialIntroduction.FindString(list))]
		}
		before := text[strings.LastIndexByte(text[:m[0]], '\n')+1 : m[0]]
		read, err := blocked(list, before, v)
		if err == nil && len(read) == 0 && len(heads) > 1 {
			err = errors.New("no policy follows before the next resource")
		}
		if err != nil {
			return nil, problem(ReasonNotAReport, v, "give the whole message of Kyverno and nothing after it, "+
				"or name the violation with --policy, --rule and --about",
				"the policies that Kyverno lists cannot be read: %s", err)
		}
		violations = append(violations, read...)
	}
	if len(heads) > 0 {
		return violations, nil
	}
	for _, m := range denialNew.FindAllStringSubmatchIndex(text, MaxViolations) {
		if m[2] >= 0 {
			message, _, _ := strings.Cut(text[m[1]:], "\n")
			violations = append(violations, Violation{Policy: text[m[2]:m[3]], Resource: about, Message: message,
				Position: position(m[0])})
			continue
		}
		group := func(i int) string { return text[max(m[2*i], 0):max(m[2*i+1], 0)] }
		named := Resource{Kind: group(2), Namespace: group(3), Name: group(4)}
		if m[10] >= 0 {
			named = Resource{APIVersion: group(5), Kind: group(6), Namespace: group(8), Name: group(7)}
		}
		if about.Kind != named.Kind || about.Namespace != named.Namespace || about.Name != named.Name {
			about = named
		}
	}
	return violations, nil
}

// blocked parses the policies and rules of a denial. They are YAML, unless the line breaks are
// lost. The prefix is the text before the denial in its line.
func blocked(text, prefix string, v Violation) ([]Violation, error) {
	escaped := strings.Contains(prefix, `\"`)
	for range 3 { // JSON in JSON
		if !escaped && !strings.HasPrefix(strings.TrimLeft(text, " "), `\`) {
			break
		}
		inQuotes := `"` + jsonText.FindString(text) + `"` // up to its end or the end of the line
		if err := json.Unmarshal([]byte(inQuotes), &text); err != nil {
			return nil, err
		}
		escaped = false
	}
	text = unprefixed(text, prefix)
	text = blankLines.ReplaceAllString(text, "")
	if !strings.HasPrefix(text, "  ") {
		text = strings.TrimPrefix(text, " ") // the list begins in the line of the resource
	}
	text = unprefixed(text, text[:len(text)-len(strings.TrimLeft(text, " "))])
	line, rest, _ := strings.Cut(text, "\n")
	isOneLine := oneLine.MatchString(line)
	if !isOneLine {
		text, rest = splitList(text)
	}
	switch {
	case ruleLine.MatchString(rest):
		return nil, errors.New("another text interrupts the list")
	case isOneLine:
		return fromOneLine(line, v)
	case text == "":
		return nil, nil
	}
	doc, err := exception.ParseUndeployed([]byte(text), v.Position.File)
	if err != nil {
		return nil, err
	}
	var violations []Violation
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
			violations = append(violations, one)
		}
	}
	object := doc.Object()
	for _, policy := range sortedKeys(object) {
		rules, _ := object[policy].(map[string]any)
		add(policy, rules)
	}
	return violations, nil
}

// blankLines match the blank lines at the begin of a text.
var blankLines = regexp.MustCompile(`^(?:\s*\n)+`)

// unprefixed removes a prefix from each line, such as a time, "│ " or spaces. Numbers may differ.
func unprefixed(text, prefix string) string {
	if prefix == "" || strings.Contains(prefix, "denied the request") {
		return text
	}
	form := digits.ReplaceAllString(regexp.QuoteMeta(strings.TrimRight(prefix, " ")), `\d+`)
	spaces := len(prefix) - len(strings.TrimRight(prefix, " "))
	line, err := regexp.Compile(fmt.Sprintf(`(?m)^%s(?: {%d}| *$)`, form, min(spaces, 100)))
	if err != nil {
		return text
	}
	return line.ReplaceAllString(text, "")
}

var digits = regexp.MustCompile(`\d+`)

// splitList returns the list of policies, and the text after it. A blank line ends the list, unless
// it is in a message.
func splitList(text string) (list, rest string) {
	inBlock := false
	for rest = text; rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		line = strings.TrimRight(line, " \t")
		switch {
		case line == "" && inBlock:
		case strings.HasPrefix(line, "    "):
			inBlock = inBlock || blockText.MatchString(line)
		case strings.HasPrefix(line, "  ") || policyLine.MatchString(line):
			inBlock = blockText.MatchString(line)
		default:
			return strings.TrimSuffix(text, rest), rest
		}
		rest = after
	}
	return text, ""
}

var jsonText = regexp.MustCompile(`^(?:[^"\\\n]|\\.)*`)

// fromOneLine parses policies and rules without line breaks. It does not support names with spaces
// and messages of several lines. A text after the message can look like a rule, so only the first is
// certain.
func fromOneLine(line string, v Violation) ([]Violation, error) {
	var violations []Violation
	policy := ""
	for {
		key := oneLineKey.FindStringSubmatch(line)
		if key == nil {
			return violations, nil // the rest of a message
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
		if key[2] == "" && strings.IndexAny(message, `'"`) == 0 {
			return nil, errors.New("a quoted message has no end")
		}
		if policy == "" || message == "" || message[0] == '|' || message[0] == '>' {
			return nil, errors.New("without its line breaks, policies and rules cannot be told apart")
		}
		one := v
		one.Policy, one.Rule, one.Message, one.Unsure = policy, key[1], message, len(violations) > 0
		_ = yaml.Unmarshal([]byte(key[2]), &one.Message) // a quoted message; only for people
		violations = append(violations, one)
	}
}

func sortedKeys(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }
