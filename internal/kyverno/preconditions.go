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

// variable matches the start of a variable in JMESPath: its first field and its second.
var variable = regexp.MustCompile(`^\{\{-?\s*([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?\s*[.\[|}]`)

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
			if message, hint := e.unset(found[1], found[2], isSet); message != "" {
				problem = &Problem{exception.Path{"spec", "conditions"}, message, hint}
			}
		}
	}
	// Kyverno stops at the first entry of any that is true, so only its first entry is always read.
	if entries, _ := e.Preconditions["any"].([]any); len(entries) > 0 {
		eachText(entries[0], judge)
	}
	eachText(e.Preconditions["all"], judge)
	return problem
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
