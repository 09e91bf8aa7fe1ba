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
// them: an empty field is absent, and what does not exist is null. They are made
// when they are asked for, for most conditions ask for one.
func (r specimen) variables(q request) map[string]any {
	object := func() any {
		if q.operation == "DELETE" {
			return nil
		}
		return r.object()
	}
	oldObject := func() any {
		if q.operation == "CREATE" {
			return nil
		}
		return r.object()
	}
	namespace := r.namespace
	if r.kind == "Namespace" && r.group == "" {
		namespace = r.name // the API server's way
	}
	return map[string]any{
		"object": object, "oldObject": oldObject,
		"request": func() any {
			asked := r.asked(q, namespace)
			asked["object"], asked["oldObject"] = object(), oldObject()
			return asked
		},
		"namespaceObject": func() any {
			if namespace == "" {
				return nil
			}
			return map[string]any{
				"metadata": map[string]any{"name": namespace, "labels": map[string]any{"kubernetes.io/metadata.name": namespace}},
				"spec":     map[string]any{"finalizers": []any{"kubernetes"}},
				"status":   map[string]any{"phase": "Active"},
			}
		},
	}
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
