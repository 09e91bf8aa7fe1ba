package verify_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/must"
)

// change is one edit of the honest document, at a key of a mapping.
type change struct {
	name  string
	at    []any
	key   string
	value any // nil: removed
}

func (c change) apply(t *testing.T, root object) {
	m := dig(t, root, c.at...)
	if c.value == nil {
		if _, ok := m[c.key]; !ok {
			t.Fatalf("there is no %q to remove", c.key)
		}
		delete(m, c.key)
		return
	}
	m[c.key] = c.value
	if _, ok := c.value.(null); ok {
		m[c.key] = nil
	}
}

// null is a JSON null as a new value.
type null struct{}

// objectVerdicts are about honest signatures on modified objects.
func objectVerdicts(*world) []verdict {
	metadata, labels, annotations := []any{"metadata"}, []any{"metadata", "labels"}, []any{"metadata", "annotations"}
	spec, resources := []any{"spec"}, []any{"spec", "match", "any", 0, "resources"}
	condition := []any{"spec", "conditions", "any", 0}
	anyKind := func(c *trust.Config) { c.Kinds = []string{"*"} }
	var out []verdict
	for _, c := range []change{
		{"a field added", spec, "podSecurity", []any{object{"controlName": "Seccomp"}}},
		{"a field changed", resources, "names", []any{"*"}},
		{"a field removed", spec, "conditions", nil},
		{"a top-level field added", nil, "data", object{}},
		{"a label added", labels, "team2", "x"},
		{"a label changed", labels, "team", "evil"},
		{"a label removed", labels, "team", nil},
		{"all labels removed", metadata, "labels", nil},
		{"an annotation added", annotations, "polex.dev/ticket", "T-1"},
		{"an annotation changed", annotations, "polex.dev/reason", "because"},
		{"an annotation removed", annotations, "polex.dev/reason", nil},
		{"an owner reference", metadata, "ownerReferences", []any{object{"name": "x"}}},
		{"another name", metadata, "name", "allow-all"},
		{"another version", nil, "apiVersion", "kyverno.io/v2beta1"},
		{"another group", nil, "apiVersion", "policies.kyverno.io/v1"},
		{"another namespace", metadata, "namespace", "kyverno"},
		{"no namespace", metadata, "namespace", nil},
		{"the key status removed", append(slices.Clone(resources), "selector", "matchLabels"), "status", nil},
		{"the key status changed", append(slices.Clone(resources), "selector", "matchLabels"), "status", "any"},
		{"a key that holds status added", append(slices.Clone(resources), "selector", "matchLabels"), "x.status", "any"},
		{"status within the spec", spec, "status", object{}},
		{"managedFields within the spec", spec, "managedFields", []any{}},
		{"uid outside of metadata", nil, "uid", "1"},
		{"an empty mapping", spec, "properties", object{}},
		{"an empty list", spec, "podSecurity", []any{}},
		{"null", spec, "podSecurity", null{}},
		{"null instead of a value", spec, "background", null{}},
		{"an empty text", annotations, "polex.dev/ticket", ""},
		{"a list emptied", resources, "namespaces", []any{}},
		{"a mapping emptied", resources, "selector", object{}},
		{"a number as text", condition, "value", "3"},
		{"a number with a fraction", condition, "value", 3.5},
		{"a number as a float", condition, "value", 3.0},
		{"a truth as text", spec, "background", "true"},
		{"a text as a list", condition, "operator", []any{"Equals"}},
		{"a list as a text", resources, "kinds", "Pod"},
		{"a default: false", spec, "suspend", false},
		{"a default: 0", spec, "priority", int64(0)},
		{"a truth turned", spec, "background", false},
		{"finalizers", metadata, "finalizers", []any{"evil"}},
		{"no finalizers", metadata, "finalizers", []any{}},
		{"a deletion's time", metadata, "deletionTimestamp", "2026-01-01T00:00:00Z"},
		{"a name to be generated", metadata, "generateName", "x-"},
		{"a dotted key is no path", nil, "metadata.uid", "1"},
	} {
		out = append(out, verdict{name: c.name, want: verify.ReasonAltered, doc: changed(c.apply)})
	}
	return append(out,
		verdict{name: "another kind that no policy speaks of", want: verify.ReasonKindNotAllowed, doc: changed(change{key: "kind", value: "ConfigMap"}.apply)},
		verdict{name: "another kind of a policy that takes any", want: verify.ReasonAltered, policy: anyKind, doc: changed(change{key: "kind", value: "ConfigMap"}.apply)},
		verdict{name: "another case of the kind", want: verify.ReasonKindNotAllowed, doc: changed(change{key: "kind", value: "policyexception"}.apply)},
		verdict{name: "the kind that the policy speaks of, and another group", want: verify.ReasonKindNotAllowed, doc: honest,
			policy: func(c *trust.Config) { c.Kinds = []string{"PolicyException.policies.kyverno.io"} }},
		verdict{name: "a filter that matches everything, appended", want: verify.ReasonAltered, doc: changed(func(t *testing.T, root object) {
			match := dig(t, root, "spec", "match")
			match["any"] = append(match["any"].([]any), object{"resources": object{"namespaceSelector": object{}}})
		})},
		verdict{name: "a filter that matches everything, in front", want: verify.ReasonAltered, doc: changed(func(t *testing.T, root object) {
			match := dig(t, root, "spec", "match")
			match["any"] = append([]any{object{"resources": object{"kinds": []any{"*"}}}}, match["any"].([]any)...)
		})},
		verdict{name: "the widened document under the honest one's signature", want: verify.ReasonAltered, doc: widened},
		verdict{name: "what the API server adds", doc: applied},
		verdict{name: "what the API server adds, under false names", want: verify.ReasonAltered, doc: changed(change{at: metadata, key: "UID", value: "1"}.apply)},
	)
}

// widened is another document with the same identity and the honest signature.
func widened(t *testing.T, w *world) *exception.Document {
	evil := parse(t, replaced(t, w.until(week), "vendor-*", "*"))
	return edited(t, evil, func(root object) {
		annotations := dig(t, root, "metadata", "annotations")
		for key, value := range dig(t, w.honest.Object(), "metadata", "annotations") {
			annotations[key] = value
		}
	})
}

// applied is the object as in an admission request or a watch: through JSON, with the additions of
// the API server and its clients.
func applied(t *testing.T, w *world) *exception.Document {
	sent := edited(t, w.honest, func(root object) {
		written := object{
			"uid": "8e3cf5b0-6a4a-4c59-9a0a-0d2a0c6f1d11", "resourceVersion": "4711", "generation": int64(2), "creationTimestamp": "2026-01-02T03:04:05Z",
			"selfLink": "/apis/kyverno.io/v2/namespaces/exceptions/policyexceptions/allow-latest",
			"managedFields": []any{object{"manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "kyverno.io/v2",
				"time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1", "fieldsV1": object{"f:spec": object{".": object{}, "f:match": object{}}}}},
		}
		for key, value := range written {
			dig(t, root, "metadata")[key] = value
		}
		dig(t, root, "metadata", "annotations")["kubectl.kubernetes.io/last-applied-configuration"] = jsonOf(t, w.honest)
		root["status"] = object{"conditions": []any{}}
	})
	var decoded map[string]any
	must.Do(t, json.Unmarshal([]byte(jsonOf(t, sent)), &decoded))
	return must.Get(exception.FromObject(integers(decoded).(map[string]any)))(t)
}

// integers converts whole numbers to int64, like Kubernetes' decoder.
func integers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = integers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return value
}

func jsonOf(t testing.TB, doc *exception.Document) string {
	t.Helper()
	raw := must.Get(json.Marshal(doc.Object()))(t)
	return string(raw)
}
