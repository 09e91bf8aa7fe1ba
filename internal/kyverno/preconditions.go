package kyverno

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// variable matches the start of a variable in JMESPath: at most its first four fields.
var variable = regexp.MustCompile(
	`^\{\{-?\s*([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?(?:\.([A-Za-z_]\w*))?(?:\.([A-Za-z_]\w*))?\s*[.\[|}]`)

// bare matches a variable without its braces, and ofOperation the one with the operation.
var (
	bare        = regexp.MustCompile(`^\{?\s*((?:request|target|images)\.[\w.]+|serviceAccountNam\w+)\s*\}?$`)
	ofOperation = regexp.MustCompile(`^\{\{-?\s*request\.operation\b[^{}]*\}\}$`)
)

// operations are the operations of a request.
var operations = []string{"CREATE", "UPDATE", "DELETE", "CONNECT"}

// noOperation returns the first text that is a misspelt operation, with a hint, or "".
func noOperation(texts []string) (wrong, hint string) {
	for _, text := range texts {
		if hint := exception.Nearest(text, operations); hint != "" && !slices.Contains(operations, text) {
			return fmt.Sprintf("%q is no operation of a request", text), hint
		}
	}
	return "", ""
}

// dashed matches a name with a dash, and quoted the texts and names in quotes.
var (
	dashed = regexp.MustCompile(`\.[A-Za-z_]\w*(?:-[A-Za-z_]\w*)+`)
	quoted = regexp.MustCompile("\"[^\"]*\"|'[^']*'|`[^`]*`")
)

var braces = regexp.MustCompile(`\{\{[^{}]*\}\}`)

// The variables that Kyverno 1.19 sets before it looks for exceptions, those about the sender, and
// the fields of request (pkg/engine/context and AdmissionRequest of Kubernetes).
var (
	rootVariables = []string{"request", "images", "serviceAccountName", "serviceAccountNamespace", "target"}
	senders       = []string{"serviceAccountName", "serviceAccountNamespace"}
	requestFields = []string{"uid", "kind", "resource", "subResource", "requestKind", "requestResource",
		"requestSubResource", "name", "namespace", "operation", "userInfo", "object", "oldObject", "dryRun", "options",
		"roles", "clusterRoles"}
	senderFields = []string{"userInfo", "roles", "clusterRoles"}
)

// PreconditionProblem returns what the conditions of a kyverno.io exception read and Kyverno does not
// know, or nil. Such a condition is never true. isSet reports whether a rule sets a variable. scanned means that the
// rules apply in background scans.
func (e *Exception) PreconditionProblem(isSet func(string) bool, scanned bool) *Problem {
	anyOf, _ := e.Preconditions["any"].([]any)
	allOf, _ := e.Preconditions["all"].([]any)
	// Kyverno stops at the first entry of any that is true, so only its first entry is always read.
	for text := range textsIn(slices.Concat(anyOf[:min(len(anyOf), 1)], allOf)) {
		for _, whole := range braces.FindAllString(text, -1) {
			if key := dashed.FindString(quoted.ReplaceAllString(whole, "")); key != "" {
				return &Problem{exception.Path{"spec", "conditions"},
					fmt.Sprintf("the name %q has a dash, which JMESPath cannot read", strings.TrimLeft(key, ".")),
					"put it in quotes: labels.\"app-name\""}
			}
			found := variable.FindStringSubmatch(whole)
			if found == nil || strings.Contains(whole, "||") { // it has a default
				continue
			}
			message, hint := unset(found[1], found[2], isSet, e.Background && scanned)
			if m := misspeltField(found[3], found[4]); message == "" && strings.HasSuffix(found[2], "bject") {
				message, hint = m.Message, m.Hint
			}
			if message != "" {
				return &Problem{exception.Path{"spec", "conditions"}, message, hint}
			}
		}
	}
	for i, item := range slices.Concat(anyOf, allOf) {
		if message, hint := constant(item); message != "" {
			path := exception.Path{"spec", "conditions", "any", i}
			if i >= len(anyOf) {
				path = exception.Path{"spec", "conditions", "all", i - len(anyOf)}
			}
			return &Problem{path, message, hint}
		}
	}
	return nil
}

// constant says why an entry of conditions is the same for every request, with a hint, or returns "".
func constant(entry any) (message, hint string) {
	tree, _ := entry.(map[string]any)
	key, _ := tree["key"].(string)
	if found := bare.FindStringSubmatch(strings.TrimSpace(key)); found != nil {
		return fmt.Sprintf("the key %q is a text and no variable", key), "write {{ " + found[1] + " }}"
	}
	if !ofOperation.MatchString(strings.TrimSpace(key)) {
		return "", ""
	}
	if _, isList := tree["value"].([]any); isList && tree["operator"] == "Equals" {
		return "an operation never equals a list", "write the operator AnyIn"
	}
	texts := slices.Collect(textsIn(tree["value"]))
	if message, hint = noOperation(texts); message == "" && len(texts) == 1 && listed.MatchString(texts[0]) {
		return fmt.Sprintf("%q is no operation of a request", texts[0]), "write a list, such as [CREATE, UPDATE]"
	}
	return message, hint
}

// listed matches several words in a text that is neither a variable nor a list in JSON.
var listed = regexp.MustCompile(`^\w+(?:[, ]+\w+)+$`)

// maxRequired limits the filters of [Exception.required], because each filter of the match is compared with them.
const maxRequired = 8

// property matches a variable with one property of the object, or with the operation.
var property = regexp.MustCompile(
	`^\{\{-?\s*request\.(?:object\.(?:metadata\.)?)?(name|namespace|kind|operation)\s*-?\}\}$`)

// required returns what the conditions of kyverno.io require, as far as they compare the name, the namespace, the kind
// or the operation with literals. Each filter has one field.
func (e *Exception) required() (filters []Filter, operations []string) {
	all, _ := e.Preconditions["all"].([]any)
	if anyOf, _ := e.Preconditions["any"].([]any); len(anyOf) == 1 {
		all = slices.Concat(all, anyOf)
	}
	for _, item := range all {
		entry, _ := item.(map[string]any)
		key, _ := entry["key"].(string)
		found := property.FindStringSubmatch(strings.TrimSpace(key))
		texts := comparedTexts(entry)
		if found == nil || len(texts) == 0 {
			continue
		}
		f := Filter{Path: exception.Path{"spec", "conditions"}}
		switch found[1] {
		case "name":
			f.Names = texts
		case "namespace":
			f.Namespaces = texts
		case "kind":
			f.Kinds = texts
		case "operation":
			if !slices.ContainsFunc(texts, func(text Located) bool { return wildcard.In(text.Text) }) {
				operations = Texts(texts)
			}
			continue
		}
		if len(filters) < maxRequired && !isOfSubresource(f) {
			filters = append(filters, f)
		}
	}
	return filters, operations
}

// comparedTexts returns the literals of which an entry of conditions requires one, or nil.
func comparedTexts(entry map[string]any) (texts []Located) {
	list, isList := entry["value"].([]any)
	switch operator := entry["operator"]; {
	case (operator == "Equals" || operator == "Equal") && !isList:
		list = []any{entry["value"]}
	case operator != "AnyIn" && operator != "In":
		return nil
	}
	for _, item := range list {
		text, is := item.(string)
		if !is || strings.ContainsAny(text, "{}") {
			return nil
		}
		texts = append(texts, Located{text, exception.Path{"spec", "conditions"}})
	}
	return texts
}

// unset says why Kyverno does not set a variable, with a hint, or returns "".
func unset(root, field string, isSet func(string) bool, scanned bool) (message, hint string) {
	switch {
	case !slices.Contains(rootVariables, root) && !isSet(root):
		return fmt.Sprintf("the variable %q does not exist", root),
			cmp.Or(exception.Nearest(root, rootVariables), "read request, images or serviceAccountName")
	case root == "request" && field != "" && !slices.Contains(requestFields, field):
		return fmt.Sprintf("a request has no %q", field),
			cmp.Or(exception.Nearest(field, requestFields), "read a field of the request, such as request.object")
	case scanned && (slices.Contains(senders, root) || root == "request" && slices.Contains(senderFields, field)):
		return "the conditions read who sends a request, and a background scan has no sender, so they are never true " +
			"there", "write background: false"
	}
	return "", ""
}

// textsIn returns every text below a value.
func textsIn(value any) iter.Seq[string] {
	return func(yield func(string) bool) { yieldTexts(value, yield) }
}

func yieldTexts(value any, yield func(string) bool) bool {
	switch of := value.(type) {
	case string:
		return yield(of)
	case []any:
		return !slices.ContainsFunc(of, func(item any) bool { return !yieldTexts(item, yield) })
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(of)) {
			if !yieldTexts(of[key], yield) {
				return false
			}
		}
	}
	return true
}

// VerifiesImages reports whether policies of a kind verify images.
func VerifiesImages(kind string) bool { return strings.HasSuffix(kind, "ImageValidatingPolicy") }

// restrictedControls are the controls that only the profile restricted has.
var restrictedControls = []string{"Volume Types", "Privilege Escalation", "Running as Non-root",
	"Running as Non-root user"}

// controlFields are the fields that the controls of the Pod Security Standards check. Kyverno 1.19
// compares them with restrictedField as texts (PSS_controls in pkg/pss/utils/mapping.go).
var controlFields = map[string]*regexp.Regexp{
	"Capabilities":             inContainers(`securityContext\.capabilities\.(?:add|drop)`),
	"Seccomp":                  inBoth(`seccompProfile\.type`),
	"Privileged Containers":    inContainers(`securityContext\.privileged`),
	"Host Ports":               inContainers(`ports\[\*\]\.hostPort`),
	"/proc Mount Type":         inContainers(`securityContext\.procMount`),
	"HostProcess":              inBoth(`windowsOptions\.hostProcess`),
	"SELinux":                  inBoth(`seLinuxOptions\.(?:type|user|role)`),
	"Host Namespaces":          exactly(`spec\.host(?:Network|PID|IPC)`),
	"HostPath Volumes":         exactly(`spec\.volumes\[\*\]\.hostPath`),
	"Sysctls":                  exactly(`spec\.securityContext\.sysctls\[\*\]\.name`),
	"Privilege Escalation":     inContainers(`securityContext\.allowPrivilegeEscalation`),
	"Running as Non-root":      inBoth(`runAsNonRoot`),
	"Running as Non-root user": inBoth(`runAsUser`),
	"Volume Types":             exactly(`spec\.volumes\[\*\](?:\.\w+)?`),
}

const containers = `spec\.(?:containers|initContainers|ephemeralContainers)\[\*\]\.`

//go:noinline
func exactly(pattern string) *regexp.Regexp { return regexp.MustCompile("^(?:" + pattern + ")$") }

func inContainers(field string) *regexp.Regexp { return exactly(containers + field) }

func inBoth(field string) *regexp.Regexp {
	return exactly(`spec\.securityContext\.` + field + "|" + containers + `securityContext\.` + field)
}

// SparesControl reports whether a rule excludes all of a control itself.
func (r *Rule) SparesControl(c Control) bool {
	return slices.ContainsFunc(r.Spares, func(one Control) bool {
		return one.Name == c.Name && (len(one.Images) > 0) == (len(c.Images) > 0)
	})
}

// Values of the fields that the API server compares with letter case, and the form of capabilities.
var (
	exactValues = []string{"true", "false", "RuntimeDefault", "Localhost", "Unconfined", "Default", "Unmasked"}
	capability  = regexp.MustCompile(`^(?i:CAP_)[A-Za-z]+(?:_[A-Za-z]+)*$|^[a-z]+(?:_[a-z]+)+$`)
)

// Misspelt returns the first value of an entry of podSecurity that no Pod has, or few do, with a hint; or "".
func (c Control) Misspelt() (wrong, hint string) {
	for _, value := range Texts(c.Values) {
		switch right := strings.TrimPrefix(strings.ToUpper(value), "CAP_"); {
		case c.Name == "Capabilities" && capability.MatchString(value):
			return value, "write " + right + ": Kyverno compares letter case, and names have no CAP_"
		case slices.Contains(exactValues, value) || slices.Contains([]string{"AppArmor", "SELinux", "Sysctls"}, c.Name):
		default:
			i := slices.IndexFunc(exactValues, func(exact string) bool { return strings.EqualFold(exact, value) })
			if i >= 0 {
				return value, "write " + exactValues[i] + ": Kyverno compares letter case"
			}
		}
	}
	return "", ""
}

// Unchecked returns the reason why no rule checks what an entry of podSecurity allows, or "".
// baseline means that the rules check the profile baseline alone.
func (c Control) Unchecked(baseline bool) string {
	fields := controlFields[c.Name]
	switch {
	case baseline && slices.Contains(restrictedControls, c.Name):
		return fmt.Sprintf("the rule checks the profile baseline, which has no control %q", c.Name)
	case baseline && strings.HasSuffix(c.Field, "capabilities.drop"):
		return "the profile baseline does not check capabilities.drop"
	case fields == nil || c.Field == "" || fields.MatchString(c.Field):
		return ""
	}
	for _, other := range slices.Sorted(maps.Keys(controlFields)) {
		if controlFields[other].MatchString(c.Field) {
			return fmt.Sprintf("the control %q does not check %s, which the control %q checks", c.Name, c.Field, other)
		}
	}
	return fmt.Sprintf("the control %q does not check %s", c.Name, c.Field)
}
