package cluster_test

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/guard/cluster"
	"github.com/polex-dev/polex/pkg/exception"
)

const definition = `
spec:
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
  acceptedNames: {plural: policyexceptions, kind: PolicyException}
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
		{name: "a version that is served anew", old: "served: false", new: "served: true", want: `"v2alpha1"`},
		{name: "no names yet", old: "plural: policyexceptions, kind: PolicyException}\n  conditions:", new: "plural: '', kind: ''}\n  other:"},
		{name: "no names, and served", old: "plural: policyexceptions, kind: PolicyException", new: "plural: '', kind: ''", want: `in its status, which is not`},
		{name: "another plural", old: "plural: policyexceptions", new: "plural: things", want: `the plural "things" in its status, which is not "policyexceptions"`},
		{name: "another kind", old: "kind: PolicyException", new: "kind: Thing", want: `the kind "Thing"`},
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

// reader answers with one definition.
type reader struct {
	client.Client
	definition *unstructured.Unstructured
}

func (r reader) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if key.Name != r.definition.GetName() {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	switch into := into.(type) {
	case *unstructured.Unstructured:
		r.definition.DeepCopyInto(into)
	case *metav1.PartialObjectMetadata:
		into.ResourceVersion = r.definition.GetResourceVersion()
	}
	return nil
}

// TestDefinitionChanges: a change of the spec is told twice, because the API server may still serve
// objects by the previous definition at the first read. A change of the status is not told.
func TestDefinitionChanges(t *testing.T) {
	d := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(definition), &d.Object); err != nil {
		t.Fatal(err)
	}
	d.SetName("policyexceptions.kyverno.io")
	definitions := cluster.Definitions{Client: reader{definition: d}}
	read := func(version string, generation int64) string {
		d.SetResourceVersion(version)
		d.SetGeneration(generation)
		all, err := definitions.Read(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		return all[exception.GroupKind{Group: exception.KyvernoGroup, Kind: exception.Kind}].Spec
	}
	first := read("1", 1)
	if again, status := read("1", 1), read("2", 1); again != first || status != first {
		t.Errorf("nothing changed: %q, %q, %q", first, again, status)
	}
	changed, settled := read("3", 2), read("3", 2)
	if changed == first || settled == first || settled == changed || read("3", 2) != settled {
		t.Errorf("the spec changed: %q, %q, %q", first, changed, settled)
	}
}
