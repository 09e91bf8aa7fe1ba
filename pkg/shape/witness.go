package shape

import (
	"maps"
	"strings"

	"github.com/google/cel-go/cel"
)

// specimen is an object that match conditions are tried on.
type specimen struct {
	group, version, kind string
	name, namespace      string // no namespace: cluster-scoped
	labels, annotations  map[string]any
	body                 map[string]any // beside metadata
	made                 map[string]any // the object, where it is asked for again and again
}

// request is what is done to a resource, and by whom.
type request struct {
	operation string // CREATE, UPDATE or DELETE
	username  string
	groups    []any
}

func (r specimen) apiVersion() string {
	if r.group == "" {
		return r.version
	}
	return r.group + "/" + r.version
}

func (r specimen) object() map[string]any {
	if r.made != nil {
		return r.made
	}
	metadata := map[string]any{"name": r.name, "uid": "0b61a1e4-53c1-4b7e-9d0e-5c8a1f0a7c11", "creationTimestamp": "2026-01-02T03:04:05Z"}
	if r.namespace != "" {
		metadata["namespace"] = r.namespace
	}
	if len(r.labels) > 0 {
		metadata["labels"] = r.labels
	}
	if len(r.annotations) > 0 {
		metadata["annotations"] = r.annotations
	}
	object := map[string]any{"apiVersion": r.apiVersion(), "kind": r.kind, "metadata": metadata}
	maps.Copy(object, r.body)
	return object
}

// plural is the name of the resource in URLs, as nearly all are formed.
func (r specimen) plural() string {
	word := strings.ToLower(r.kind)
	if stem, ok := strings.CutSuffix(word, "y"); ok {
		return stem + "ies"
	}
	if strings.HasSuffix(word, "s") {
		return word + "es"
	}
	return word + "s"
}

// situation is a request about a resource, as the variables that Kyverno would
// give to a condition and an API server would make: an empty field is absent, and
// what does not exist is null. It is a [cel.Activation] that makes each when it is
// asked for, for most conditions ask for one.
type situation struct {
	specimen
	request
}

// ResolveName returns a variable's value.
func (s situation) ResolveName(name string) (any, bool) {
	namespace := s.namespace
	if s.kind == "Namespace" && s.group == "" {
		namespace = s.name // the API server's way
	}
	switch name {
	case "object":
		return s.unless("DELETE"), true
	case "oldObject":
		return s.unless("CREATE"), true
	case "request":
		asked := s.asked(s.request, namespace)
		asked["object"], asked["oldObject"] = s.unless("DELETE"), s.unless("CREATE")
		return asked, true
	case "namespaceObject":
		if namespace == "" {
			return nil, true
		}
		return map[string]any{
			"metadata": map[string]any{"name": namespace, "labels": map[string]any{"kubernetes.io/metadata.name": namespace}},
			"spec":     map[string]any{"finalizers": []any{"kubernetes"}},
			"status":   map[string]any{"phase": "Active"},
		}, true
	default:
		return nil, false
	}
}

// Parent returns nil: there are no other variables.
func (s situation) Parent() cel.Activation { return nil }

// unless returns the object but for one operation, which has none.
func (s situation) unless(operation string) any {
	if s.operation == operation {
		return nil
	}
	return s.object()
}

// asked is the admission request, without its objects.
func (r specimen) asked(q request, namespace string) map[string]any {
	kind := map[string]any{"group": r.group, "version": r.version, "kind": r.kind}
	plural := map[string]any{"group": r.group, "version": r.version, "resource": r.plural()}
	asked := map[string]any{
		"uid": "6f4d3f52-9f38-4a0c-8a4e-2f7f6f1b9a34", "kind": kind, "resource": plural, "requestKind": kind, "requestResource": plural,
		"name": r.name, "operation": q.operation, "userInfo": map[string]any{"username": q.username, "groups": q.groups},
		"dryRun": false, "options": nil,
	}
	if namespace != "" {
		asked["namespace"] = namespace
	}
	return asked
}
