package cluster_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/guard/cluster"
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
