package shape

import (
	"maps"
	"strings"
)

// specimen is an object that match conditions are tried on.
type specimen struct {
	group, version, kind string
	name, namespace      string // no namespace: cluster-scoped
	labels, annotations  map[string]any
	body                 map[string]any // beside metadata
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

// variables are what Kyverno would give to a condition, as an API server makes
// them: an empty field is absent, and what does not exist is null.
func (r specimen) variables(q request) map[string]any {
	object, oldObject := any(r.object()), any(nil)
	switch q.operation {
	case "UPDATE":
		oldObject = r.object()
	case "DELETE":
		object, oldObject = nil, object
	}
	kind := map[string]any{"group": r.group, "version": r.version, "kind": r.kind}
	plural := map[string]any{"group": r.group, "version": r.version, "resource": r.plural()}
	asked := map[string]any{
		"uid": "6f4d3f52-9f38-4a0c-8a4e-2f7f6f1b9a34", "kind": kind, "resource": plural, "requestKind": kind, "requestResource": plural,
		"name": r.name, "operation": q.operation, "userInfo": map[string]any{"username": q.username, "groups": q.groups},
		"object": object, "oldObject": oldObject, "dryRun": false, "options": nil,
	}
	variables := map[string]any{"object": object, "oldObject": oldObject, "request": asked, "namespaceObject": nil}
	namespace := r.namespace
	if r.kind == "Namespace" && r.group == "" {
		namespace = r.name // the API server's way
	}
	if namespace != "" {
		asked["namespace"] = namespace
		variables["namespaceObject"] = map[string]any{
			"metadata": map[string]any{"name": namespace, "labels": map[string]any{"kubernetes.io/metadata.name": namespace}},
			"spec":     map[string]any{"finalizers": []any{"kubernetes"}},
			"status":   map[string]any{"phase": "Active"},
		}
	}
	return variables
}
