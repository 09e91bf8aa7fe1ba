package kyverno

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Mistake is a part of a match condition that is not what its author meant.
type Mistake struct {
	Message, Hint string
	IsSure        bool // for objects of every kind
	IsWider       bool // the condition holds for more; otherwise the part has no effect
}

// The fields of every object and of its metadata.
var (
	objectFields   = []string{"apiVersion", "kind", "metadata", "spec", "status"}
	metadataFields = []string{"name", "namespace", "labels", "annotations", "ownerReferences", "finalizers",
		"generateName", "uid", "generation", "resourceVersion", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "managedFields", "selfLink"}
)

// Fields of Pods and their controllers. The type of one is not that of a text.
var (
	boolFields = []string{"hostNetwork", "hostPID", "hostIPC", "hostUsers", "shareProcessNamespace", "privileged",
		"allowPrivilegeEscalation", "readOnlyRootFilesystem", "runAsNonRoot", "automountServiceAccountToken",
		"enableServiceLinks", "suspend"}
	numberFields = []string{"replicas", "runAsUser", "runAsGroup", "hostPort", "containerPort"}
	otherFields  = []string{"containers", "initContainers", "ephemeralContainers", "securityContext", "template",
		"serviceAccountName", "nodeName", "nodeSelector", "hostPath", "priorityClassName", "runtimeClassName",
		"imagePullPolicy", "imagePullSecrets", "restartPolicy", "volumes", "volumeMounts", "seccompProfile",
		"livenessProbe", "readinessProbe", "ownerReferences", "apiVersion", "jobTemplate"}
	wellKnown = slices.Concat(boolFields, numberFields, otherFields)
)

// The forms of mistakes, with each text in double quotes.
var (
	placeField = `(?:(?:metadata|request) \. (?:\? )?(?:name|namespace)|(?:object|kind) \. kind)`
	globs      = regexp.MustCompile(placeField + `(?: \. orValue \( "" \))? ` +
		`(?:[!=]=|in \[|\. \w+With \(|\. contains \() ((?:"[^"]*"(?: , )?)+)|` +
		`("[^"]*") [!=]= (?:\w+ \. )*` + placeField + `\b`)
	glob        = regexp.MustCompile(`"([^"]*?)([*?][^"]*)"`)
	globRegular = regexp.MustCompile(`\. matches \( "(?:[^"]*[^"\\])?([\w-])\*`)
	asText      = regexp.MustCompile(`(\w+) \. (?:\? )?(\w+)(?: \. orValue \( \w* \))? [!=]= "(?:true|false|\d+)"`)
	operationIs = regexp.MustCompile(`request \. operation (?:[!=]=|in \[) ((?:"[^"]*"(?: , )?)+)`)
	resourceIs  = regexp.MustCompile(`equest(?:Resource)? \. (?:resource \. )?resource ` +
		`(?:[!=]=|in \[) ((?:"[^"]*"(?: , )?)+)`)
	constants = regexp.MustCompile(`(?:^|[(!&|] )("(?:[^"]*\{\{[^"]*|(?:\w*[oO]bject|request)\.[\w.]+)" ` +
		`[!=]= "[^"]*")`)
	requires = regexp.MustCompile(`^[^()]+ == "[^"]*"$`)
	// needsField matches a part that is false or an error for an object without a field of spec.
	needsField = regexp.MustCompile(`^(?:has \( )?(?:object|oldObject) \. spec \. (?:\? )?(\w+)(?: \. \w+)*(?: \))?` +
		`(?: \. orValue \( false \))?(?: == (?:true|"[^"]*"))?$`)
	ofNamespace = regexp.MustCompile(`^object \. metadata \. namespace (?:==|in|\. \w+With) `)
	notText     = regexp.MustCompile(`(labels|annotations) (?:\. \w+|\[ "[^"]*" \]) [!=]= (?:true|false|\d+)\b`)
)

// Mistakes returns the mistakes in a match condition that polex recognises. of are the objects of the exception.
func Mistakes(condition string, of Workload) (all []Mistake) {
	work := wildcard.NewMeter()
	parts, err := tokens(work, condition)
	if err != nil || len(condition) > maxExpression {
		return nil
	}
	for _, part := range leaves(parts, maxNesting) {
		found := mistakesInTexts(written(part, strconv.Quote), strings.Contains(condition, "Role"))
		for i, t := range part {
			if m := misspelt(part, i); t.kind == word && m.Message != "" {
				found = append(found, m)
			}
		}
		for _, m := range found {
			if isNegated(part) && m.IsSure { // it holds for every object
				m.IsSure, m.IsWider = false, true
				m.Message += "; negated, it holds for every object"
			}
			if !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
	}
	joined := Parts([]string{condition})
	if slices.Contains(joined, `object . kind == "Namespace"`) && slices.ContainsFunc(joined, ofNamespace.MatchString) {
		all = append(all, Mistake{IsSure: true, Message: "a Namespace has no object.metadata.namespace, so the " +
			"condition is an error for it", Hint: "compare object.metadata.name"})
	}
	for _, part := range joined {
		if at := strings.LastIndex(part, " == "); requires.MatchString(part) {
			if _, excluded := slices.BinarySearch(joined, part[:at]+" != "+part[at+4:]); excluded {
				all = append(all, Mistake{IsSure: true, Hint: "remove one of the two", Message: fmt.Sprintf(
					"the condition requires %s and excludes it", asWritten.Replace(part))})
			}
		}
		if found := needsField.FindStringSubmatch(part); found != nil {
			if m := of.mislaid(found[1]); m.Message != "" && !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
	}
	if both := eitherIsTrue(parts, maxNesting); both != "" {
		all = append(all, Mistake{IsWider: true, Message: both + " holds for every value",
			Hint: "write && and not ||"})
	}
	if open := leftOpen(parts, maxNesting); open != "" {
		all = append(all, Mistake{IsWider: true, Message: fmt.Sprintf("&& binds stronger than ||, so the alternative "+
			"%q holds in every namespace", open), Hint: "put parentheses around the alternatives: a && (b || c)"})
	}
	return all
}

// leaves returns the parts that || and && join, without the brackets around them.
func leaves(parts []token, nesting int) (all [][]token) {
	if inner, ok := unwrapped(parts); ok && nesting > 0 {
		return leaves(inner, nesting-1)
	}
	if len(split(parts, "?", 2)) > 1 || nesting == 0 {
		return [][]token{parts}
	}
	for _, operator := range []string{"||", "&&"} {
		if pieces := split(parts, operator, -1); len(pieces) > 1 {
			for _, one := range pieces {
				all = append(all, leaves(one, nesting-1)...)
			}
			return all
		}
	}
	return [][]token{parts}
}

// isNegated reports whether a part excludes the texts in it.
func isNegated(part []token) bool {
	not := 0
	for _, t := range part {
		if t.is("!") || t.is("!=") {
			not++
		}
	}
	return not%2 == 1
}

// mistakesInTexts compares a text with something that never equals it. Names of roles may contain a star.
func mistakesInTexts(text string, ofRoles bool) (all []Mistake) {
	for _, m := range globs.FindAllStringSubmatch(text, -1) {
		pattern := glob.FindStringSubmatch(cmp.Or(m[1], m[2]))
		if pattern == nil || ofRoles {
			continue
		}
		hint := "write the whole name"
		if end := strings.Trim(pattern[2], "*?"); pattern[1] != "" {
			hint = fmt.Sprintf("write .startsWith('%s')", pattern[1])
		} else if end != "" {
			hint = fmt.Sprintf("write .endsWith('%s')", end)
		}
		all = append(all, Mistake{IsSure: true, Hint: hint, Message: fmt.Sprintf(
			"CEL has no patterns, and no name contains %q", pattern[2][:1]) + ": " + pattern[0] + " matches nothing"})
	}
	for _, m := range operationIs.FindAllStringSubmatch(text, -1) {
		if wrong, hint := noOperation(strings.Split(strings.ReplaceAll(m[1], `"`, ""), " , ")); wrong != "" {
			all = append(all, Mistake{IsSure: true, Message: wrong, Hint: hint})
		}
	}
	for _, m := range resourceIs.FindAllStringSubmatch(text, -1) {
		for _, name := range strings.Split(strings.ReplaceAll(m[1], `"`, ""), " , ") {
			if resource := manifest.ResourceLike(name); resource != "" {
				all = append(all, Mistake{Message: fmt.Sprintf("no resource is called %q", name),
					Hint: fmt.Sprintf("did you mean %q?", resource)})
			}
		}
	}
	for _, m := range constants.FindAllStringSubmatch(text, -1) {
		all = append(all, Mistake{IsSure: true, Message: m[1] + " compares two texts and no field of the object",
			Hint: "write fields without quotes and braces: object.metadata.name == 'web'"})
	}
	if strings.HasSuffix(text, " in [ ]") {
		all = append(all, Mistake{IsSure: true, Message: "nothing is in an empty list", Hint: "list the values"})
	}
	if found := globRegular.FindStringSubmatch(text); found != nil {
		of := strings.Replace(strconv.Quote(found[1]), `"-"`, "dashes", 1)
		all = append(all, Mistake{IsWider: true,
			Hint: fmt.Sprintf("write startsWith, or %s.* in a regular expression", found[1]),
			Message: fmt.Sprintf("in a regular expression, %s* stands for any number of %s, and for none",
				found[1], of)})
	}
	for _, m := range asText.FindAllStringSubmatch(text, -1) {
		of, isNumber := m[1], slices.Contains(numberFields, m[2])
		if of == "labels" || of == "annotations" || !isNumber && !slices.Contains(boolFields, m[2]) {
			continue
		}
		kind := map[bool]string{true: "a number", false: "true or false"}[isNumber]
		all = append(all, Mistake{Message: fmt.Sprintf("%s is %s and no text, so it never equals a text", m[2], kind),
			Hint: "remove the quotes around the value"})
	}
	for _, m := range notText.FindAllStringSubmatch(text, -1) {
		all = append(all, Mistake{IsSure: true, Message: "the values of " + m[1] + " are texts, so none equals a " +
			"value without quotes", Hint: "put the value in quotes"})
	}
	return all
}

// misspelt returns the mistake in a path that begins at a word, or in the field that the word is.
func misspelt(parts []token, i int) Mistake {
	isField := i > 1 && parts[i-1].is(".") && parts[i-2].text != "request" // of a custom resource
	if t := parts[i].text; (t == "object" || t == "oldObject") && !isField {
		p := pathFrom(parts, i)
		return misspeltField(p.step(0), p.step(1))
	}
	at := func(j int) token { // before the word, without the sign of an optional field
		if j = i - j; j > 0 && parts[i-1].is("?") {
			j--
		}
		return parts[max(j, 0)]
	}
	isKey := slices.Contains([]string{"labels", "annotations", "matchLabels", "nodeSelector", "data"}, at(2).text)
	if !at(1).is(".") || isKey || i+1 < len(parts) && parts[i+1].is("(") {
		return Mistake{}
	}
	for _, field := range wellKnown {
		if t := parts[i].text; strings.EqualFold(t, field) && t != field {
			return Mistake{Message: fmt.Sprintf("Pods and their controllers have no field %q", t),
				Hint: fmt.Sprintf("did you mean %q?", field)}
		}
	}
	return Mistake{}
}

// misspeltField returns the mistake in the first two fields of an object that something reads.
func misspeltField(top, below string) Mistake {
	switch {
	case top == "metadata" && below != "" && !slices.Contains(metadataFields, below):
		return Mistake{IsSure: true, Message: fmt.Sprintf("no object has metadata.%s", below),
			Hint: cmp.Or(exception.Nearest(below, metadataFields), "read name, namespace, labels or annotations")}
	case slices.Contains(metadataFields[:4], top): // name, namespace, labels, annotations
		return Mistake{Message: fmt.Sprintf("objects have no field %q", top),
			Hint: fmt.Sprintf("did you mean metadata.%s?", top)}
	case top != "" && !slices.Contains(objectFields, top):
		for _, field := range objectFields {
			if most := min(2, len(field)/4); exception.Edits(top, field, most) < most {
				return Mistake{Message: fmt.Sprintf("objects have no field %q", top),
					Hint: fmt.Sprintf("did you mean %q?", field)}
			}
		}
	}
	return Mistake{}
}

// Fields of the spec of a Pod alone, and of its controllers alone.
var (
	ofPod = []string{"containers", "initContainers", "ephemeralContainers", "hostNetwork", "hostPID", "hostIPC",
		"volumes", "securityContext", "serviceAccountName", "nodeName", "nodeSelector", "tolerations"}
	ofController = []string{"template", "jobTemplate", "replicas"}
)

// Workload says that all objects of an exception are Pods, or that all are controllers of Pods.
type Workload struct {
	Pods, Controllers bool
	Kind              string // of one of them
	// Sure means that the group is known too. Other groups have kinds of the same names.
	Sure bool
}

// WorkloadOf returns what the objects are that match all filters of one of some lists.
func WorkloadOf(work *wildcard.Meter, lists [][]Filter) Workload {
	all := Workload{Pods: len(lists) > 0, Controllers: len(lists) > 0, Sure: true}
	for _, filters := range lists {
		kinds, _ := commonKinds(work, filters)
		all.Pods, all.Controllers = all.Pods && len(kinds) > 0, all.Controllers && len(kinds) > 0
		for _, k := range kinds {
			group, known := manifest.PodControllers[k.Kind]
			all.Kind, all.Sure = k.Kind, all.Sure && k.Group != "*"
			all.Pods = all.Pods && k.Kind == "Pod" && k.Subresource == "" && work.Fits(k.Group, "")
			all.Controllers = all.Controllers && known && work.Fits(k.Group, group)
		}
	}
	return all
}

// mislaid returns the mistake in a field of spec that Pods have and their controllers do not, or the other way round.
func (w Workload) mislaid(field string) Mistake {
	m := Mistake{IsSure: w.Sure, Message: fmt.Sprintf("a %s has no field spec.%s", w.Kind, field)}
	switch {
	case w.Pods && slices.Contains(ofController, field):
		m.Hint = "read a field of the Pod, such as spec.hostNetwork"
	case w.Controllers && slices.Contains(ofPod, field):
		m.Hint = "read the field below spec.template.spec, of a CronJob below spec.jobTemplate.spec.template.spec"
	default:
		return Mistake{}
	}
	return m
}

// eitherIsTrue returns two alternatives of which one is always true, such as a != 'x' || a != 'y', or "".
func eitherIsTrue(parts []token, nesting int) string {
	if inner, ok := unwrapped(parts); ok && nesting > 0 {
		return eitherIsTrue(inner, nesting-1)
	}
	if len(split(parts, "?", 2)) > 1 || nesting == 0 {
		return ""
	}
	pieces := split(parts, "||", -1)
	excluded := map[string]string{} // alternatives that exclude one value, by the field
	for _, one := range pieces {
		end := len(one) - 1
		if end < 2 || !one[end-1].is("!=") || one[end].kind != literal || len(split(one, "&&", 2)) > 1 {
			continue
		}
		field, text := written(one[:end], strconv.Quote), written(one, inQuotes)
		if other := excluded[field]; other != "" && other != text {
			return asWritten.Replace(other + " || " + text)
		}
		excluded[field] = text
	}
	if len(pieces) == 1 {
		pieces = split(parts, "&&", -1)
	}
	for _, one := range pieces {
		if len(pieces) == 1 {
			break
		}
		if both := eitherIsTrue(one, nesting-1); both != "" {
			return both
		}
	}
	return ""
}

func inQuotes(text string) string { return "'" + text + "'" }

// asWritten removes the spaces between parts that people do not write.
var asWritten = strings.NewReplacer(" . ? ", ".?", " [ ? ", "[?", "[ ", "[", " ]", "]",
	" . ", ".", " ( ", "(", "( ", "(", " )", ")", " ,", ",", "! ", "!")

// leftOpen returns an alternative without a namespace beside one that && joins with a namespace, or
// "". Parentheses show that an author means this.
func leftOpen(parts []token, nesting int) string {
	if inner, ok := unwrapped(parts); ok && nesting > 0 {
		return leftOpen(inner, nesting-1)
	}
	if len(split(parts, "?", 2)) > 1 || nesting == 0 {
		return ""
	}
	alternatives := split(parts, "||", -1)
	if joined := split(parts, "&&", -1); len(alternatives) == 1 && len(joined) > 1 {
		found, named := "", 0
		for _, one := range joined {
			if hasNamespace(one) {
				named++
			}
		}
		for _, one := range joined {
			if named == 0 || named == 1 && hasNamespace(one) { // none of the others has one
				found = cmp.Or(found, leftOpen(one, nesting-1))
			}
		}
		return found
	}
	closed, open := false, ""
	for _, one := range alternatives {
		if _, grouped := unwrapped(one); !hasNamespace(one) && !grouped {
			open = cmp.Or(open, asWritten.Replace(written(one, inQuotes)))
		}
		closed = closed || hasNamespace(one) && len(split(one, "&&", 2)) > 1
	}
	if !closed {
		return ""
	}
	return open
}

func hasNamespace(parts []token) bool {
	return slices.ContainsFunc(parts, func(t token) bool {
		return t.kind == word && (t.text == "namespace" || t.text == "namespaceObject")
	})
}
