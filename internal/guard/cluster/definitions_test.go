package cluster_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/guard/cluster"
	"github.com/polex-dev/polex/pkg/exception"
)

const definition = `
spec:
  group: kyverno.io
  conversion: {strategy: None}
  versions:
  - name: v2
    served: true
    schema: {openAPIV3Schema: {properties: {spec: {description: one, properties: {match: {type: object, description: two}, description: {type: string}}}}}}
  - name: v2beta1
    served: true
    schema: {openAPIV3Schema: {properties: {spec: {description: other, properties: {match: {type: object}, description: {type: string}}}}}}
  - name: v2alpha1
    served: false
    schema: {openAPIV3Schema: {properties: {spec: {properties: {other: {type: object}}}}}}
status:
  acceptedNames: {plural: policyexceptions, singular: policyexception, kind: PolicyException, listKind: PolicyExceptionList}
  conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "True"}]
`

// TestConversion: a conversion that can show two clients different exceptions is reported.
func TestConversion(t *testing.T) {
	for _, tc := range []struct{ name, old, new, want string }{
		{name: "as Kyverno's are"},
		{name: "no strategy", old: "conversion: {strategy: None}", new: "conversion: {}"},
		{name: "a webhook", old: "strategy: None", new: "strategy: Webhook, webhook: {clientConfig: {url: 'https://x.example'}}", want: "https://x.example"},
		{name: "a Service", old: "strategy: None", new: "strategy: Webhook, webhook: {clientConfig: {service: {namespace: a, name: b}}}", want: "the Service a/b"},
		{name: "another version leaves a field out", old: "properties: {match: {type: object}, ", new: "properties: {", want: `"v2beta1", which is not that of "v2"`},
		{name: "another version adds a default", old: "match: {type: object}", new: "match: {type: object, default: {}}", want: `"v2beta1"`},
		{name: "a field that is called like a text", old: "match: {type: object}, description: {type: string}", new: "match: {type: object}", want: `"v2beta1"`},
		{name: "another version keeps unknown fields", old: "{openAPIV3Schema: {properties: {spec: {description: other,", new: "{openAPIV3Schema: {x-kubernetes-preserve-unknown-fields: true, properties: {spec: {description: other,", want: `"v2beta1"`},
		{name: "another version has one more field beside spec", old: "{openAPIV3Schema: {properties: {spec: {description: other,", new: "{openAPIV3Schema: {properties: {more: {type: object}, spec: {description: other,", want: `"v2beta1"`},
		{name: "a version that is served anew", old: "served: false", new: "served: true", want: `"v2alpha1"`},
		{name: "not the version that Kyverno reads", old: "  - name: v2\n    served: true", new: "  - name: v2\n    served: false", want: `the version "v2", which Kyverno reads`},
		{name: "without the version that Kyverno reads", old: "- name: v2\n", new: "- name: v3\n", want: `the version "v2", which Kyverno reads`},
		{name: "served is a text", old: "  - name: v2\n    served: true", new: "  - name: v2\n    served: 'true'", want: `the version "v2", which Kyverno reads`},
		{name: "Established twice", old: `{type: Established, status: "True"}`, new: `{type: Established, status: "False"}, {type: Established, status: "True"}`, want: "no single condition Established"},
		{name: "Established twice, first as it is", old: `{type: Established, status: "True"}`, new: `{type: Established, status: "True"}, {type: Established, status: "False"}`, want: "no single condition Established"},
		{name: "no longer established", old: `{type: Established, status: "True"}`, new: `{type: Established, status: "False"}`, want: "no single condition Established"},
		{name: "no names yet", old: "{plural: policyexceptions, singular: policyexception, kind: PolicyException, listKind: PolicyExceptionList}\n  conditions:", new: "{}\n  other:"},
		{name: "no names, and served", old: "plural: policyexceptions, singular: policyexception, kind: PolicyException, listKind: PolicyExceptionList", new: "plural: '', kind: ''", want: `in its status, which is not`},
		{name: "another plural", old: "plural: policyexceptions", new: "plural: things", want: `the plural "things" in its status, which is not "policyexceptions"`},
		{name: "another kind", old: "kind: PolicyException", new: "kind: Thing", want: `the kind "Thing"`},
		{name: "another kind of lists", old: "listKind: PolicyExceptionList", new: "listKind: Things", want: `the listKind "Things"`},
		{name: "no singular", old: "singular: policyexception, ", new: "", want: `the singular ""`},
		{name: "a plural of another type", old: "plural: policyexceptions", new: "plural: 1", want: `the plural ""`},
		{name: "a version without a schema", old: "schema: {openAPIV3Schema: {properties: {spec: {description: other, properties: {match: {type: object}, description: {type: string}}}}}}", new: "x: y", want: `"v2beta1"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := definition
			if tc.old != "" {
				text = strings.Replace(definition, tc.old, tc.new, 1)
			}
			d := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(text), &d.Object); err != nil {
				t.Fatal(err)
			}
			got := cluster.Conversion(d)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) || tc.old != "" && text == definition {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestDefinitionChanges: a definition that changes is told at once, also if it had the other state
// for a moment only, and a watch that ends does not hide it. While it cannot be watched, the guard
// knows that.
func TestDefinitionChanges(t *testing.T) {
	s, api := serve(t)
	s.versions["apiextensions.k8s.io"] = []string{"v1"}
	generation := int64(1)
	put := func(change func(*unstructured.Unstructured)) {
		d := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(definition), &d.Object); err != nil {
			t.Fatal(err)
		}
		d.SetAPIVersion("apiextensions.k8s.io/v1")
		d.SetKind("CustomResourceDefinition")
		d.SetName("policyexceptions.kyverno.io")
		if change != nil {
			change(d)
		}
		d.SetGeneration(generation)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.set("apiextensions.k8s.io/customresourcedefinitions/policyexceptions.kyverno.io", d.Object)
		s.tell("apiextensions.k8s.io/customresourcedefinitions", object{"type": "MODIFIED", "object": d.Object})
	}
	put(nil)
	told := make(chan string, 10)
	var sees sync.Map // by group
	next := func() string {
		t.Helper()
		select {
		case change := <-told:
			return change
		case <-time.After(30 * time.Second):
			t.Fatal("nothing is told")
			return ""
		}
	}
	definitions := cluster.Definitions{
		API: api, Known: &guard.Definitions{}, Failed: func(err error) { told <- err.Error() },
		Changed: func(kind exception.GroupKind, before, state string) {
			if before == state {
				t.Errorf("%s is told twice", state)
			}
			told <- kind.Group + " " + state
		},
		Watching: func(kind exception.GroupKind, yes bool) { sees.Store(kind.Group, yes) },
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); definitions.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	eventually(t, "both watches", func() bool { return s.watched(2) })

	if got := next(); !strings.HasPrefix(got, "kyverno.io generation 1") {
		t.Errorf("at the start: %s", got) // nobody saw a change before
	}
	eventually(t, "the news that it is watched", func() bool { yes, _ := sees.Load("kyverno.io"); return yes == true })
	put(nil) // as it was
	generation = 2
	put(nil)
	first := next()
	if !strings.HasPrefix(first, "kyverno.io generation 2") {
		t.Fatal(first)
	}
	put(func(d *unstructured.Unstructured) {
		names := []any{map[string]any{"type": "Established", "status": "True"}, map[string]any{"type": "Established", "status": "False"}}
		if err := unstructured.SetNestedSlice(d.Object, names, "status", "conditions"); err != nil {
			t.Error(err)
		}
	})
	if got := next(); !strings.HasPrefix(got, "kyverno.io generation 2") || got == first {
		t.Errorf("another status: %s", got)
	}
	put(nil)
	if got := next(); got != first {
		t.Errorf("the status before: %s, want %s", got, first)
	}
	s.endWatches()
	generation = 4 // it was another one in between
	put(nil)
	if got := next(); !strings.HasPrefix(got, "kyverno.io generation 4") {
		t.Errorf("after the watch ended: %s", got)
	}
	eventually(t, "both watches again", func() bool { return s.watched(2) })
	s.mu.Lock()
	delete(s.versions, "apiextensions.k8s.io")
	s.mu.Unlock()
	s.endWatches()
	if got := next(); !strings.Contains(got, "watch the definition policyexceptions.") {
		t.Errorf("it cannot be watched: %s", got)
	}
	eventually(t, "the news that neither is watched", func() bool {
		one, _ := sees.Load("kyverno.io")
		other, _ := sees.Load("policies.kyverno.io")
		return one == false && other == false
	})
}
