package kyverno

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

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
// know, or nil. Such a condition is never true. isSet reports whether a rule sets a variable.
func (e *Exception) PreconditionProblem(isSet func(string) bool) *Problem {
	var problem *Problem
	judge := func(text string) {
		for _, whole := range braces.FindAllString(text, -1) {
			found := variable.FindStringSubmatch(whole)
			if found == nil || strings.Contains(whole, "||") || problem != nil { // it has a default
				continue
			}
			message, hint := e.unset(found[1], found[2], isSet)
			if m := misspeltField(found[3], found[4]); message == "" && strings.HasSuffix(found[2], "bject") {
				message, hint = m.Message, m.Hint
			}
			if message != "" {
				problem = &Problem{exception.Path{"spec", "conditions"}, message, hint}
			}
		}
	}
	// Kyverno stops at the first entry of any that is true, so only its first entry is always read.
	if entries, _ := e.Preconditions["any"].([]any); len(entries) > 0 {
		eachText(entries[0], judge)
	}
	eachText(e.Preconditions["all"], judge)
	for _, field := range []string{"any", "all"} {
		entries, _ := e.Preconditions[field].([]any)
		for i, item := range entries {
			if message, hint := constant(item); message != "" && problem == nil {
				problem = &Problem{exception.Path{"spec", "conditions", field, i}, message, hint}
			}
		}
	}
	return problem
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
	var values []string
	eachText(tree["value"], func(text string) { values = append(values, text) })
	_, isList := tree["value"].([]any)
	if isList && tree["operator"] == "Equals" {
		return "an operation never equals a list", "write the operator AnyIn"
	}
	return noOperation(values)
}

// unset says why Kyverno does not set a variable, with a hint, or returns "".
func (e *Exception) unset(root, field string, isSet func(string) bool) (message, hint string) {
	switch {
	case !slices.Contains(rootVariables, root) && !isSet(root):
		return fmt.Sprintf("the variable %q does not exist", root),
			cmp.Or(exception.Nearest(root, rootVariables), "read request, images or serviceAccountName")
	case root == "request" && field != "" && !slices.Contains(requestFields, field):
		return fmt.Sprintf("a request has no %q", field),
			cmp.Or(exception.Nearest(field, requestFields), "read a field of the request, such as request.object")
	case e.Background && (slices.Contains(senders, root) || root == "request" && slices.Contains(senderFields, field)):
		return "the conditions read who sends a request, and a background scan has no sender, so they are never true " +
			"there", "write background: false"
	}
	return "", ""
}

// eachText calls visit with every text below a value.
func eachText(value any, visit func(string)) {
	switch of := value.(type) {
	case string:
		visit(of)
	case []any:
		for _, item := range of {
			eachText(item, visit)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(of)) {
			eachText(of[key], visit)
		}
	}
}
