package exception_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/modcache"
	"github.com/polex-dev/polex/pkg/exception"
)

// A definition with fewer fields than Kyverno's, and one version.
const smallDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: policyexceptions.kyverno.io}
spec:
  group: kyverno.io
  names: {kind: PolicyException}
  versions:
  - name: v2
    served: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            properties:
              background: {type: boolean}
              mode: {type: string, enum: [a, b]}
              labels: {type: object, additionalProperties: {type: string}}
              free: {x-kubernetes-preserve-unknown-fields: true}
              names: {type: array, items: {type: string}}
            required: [mode]
        required: [spec]
  - name: v2beta1
    served: false
    schema: {openAPIV3Schema: {type: object}}
`

func definitions(t *testing.T, text string) (*exception.Definitions, error) {
	t.Helper()
	return exception.ReadDefinitions([]*exception.Document{parseOne(t, text)})
}

func parseOne(t *testing.T, text string) *exception.Document {
	t.Helper()
	d, err := exception.Parse([]byte(text), "file.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDefinitions(t *testing.T) {
	defined, err := definitions(t, smallDefinition)
	if err != nil {
		t.Fatal(err)
	}
	head := "metadata: {name: a, namespace: b}\n"
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"as defined", "apiVersion: kyverno.io/v2\nkind: PolicyException\n" + head + "spec: {mode: a, background: true, labels: {x: one}, free: {z: [1]}, names: [a]}\n", nil},
		{"a field that the cluster has not", "apiVersion: kyverno.io/v2\nkind: PolicyException\n" + head + "spec: {mode: a, match: {}}\n", []string{"unknown-field spec.match"}},
		{"wrong", "apiVersion: kyverno.io/v2\nkind: PolicyException\n" + head + "spec: {mode: c, names: a, labels: {x: 1}}\n", []string{"invalid-value spec.mode", "wrong-type spec.names", "wrong-type spec.labels.x"}},
		{"missing", "apiVersion: kyverno.io/v2\nkind: PolicyException\n" + head + "spec: {}\n", []string{"missing-field spec.mode"}},
		{"a version that is not served", "apiVersion: kyverno.io/v2beta1\nkind: PolicyException\n" + head + "spec: {mode: a}\n", []string{"unknown-version apiVersion"}},
		{"a group that the cluster has not", "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\n" + head + "spec: {mode: a}\n", []string{"unknown-version apiVersion"}},
	} {
		var got []string
		for _, p := range defined.CheckSchema(parseOne(t, tc.text)) {
			got = append(got, p.Reason+" "+p.Path.String())
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestDefinitionsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no definition":             "apiVersion: v1\nkind: ConfigMap\n",
		"another kind's":            strings.Replace(smallDefinition, "{kind: PolicyException}", "{kind: ClusterPolicy}", 1),
		"an old form":               strings.Replace(smallDefinition, "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1", 1),
		"a pattern":                 strings.Replace(smallDefinition, "enum: [a, b]", "pattern: a+", 1),
		"a rule in CEL":             strings.Replace(smallDefinition, "enum: [a, b]", "x-kubernetes-validations: []", 1),
		"a type that is not read":   strings.Replace(smallDefinition, "type: boolean", "type: integer", 1),
		"a not that is not read":    strings.Replace(smallDefinition, "required: [mode]", "not: {required: [a]}", 1),
		"a list of unknown objects": strings.Replace(smallDefinition, "items: {type: string}", "items: {}", 1),
	} {
		if _, err := definitions(t, text); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// TestKyvernosDefinitions: Kyverno's own files give the same schemas as the table.
func TestKyvernosDefinitions(t *testing.T) {
	crds := filepath.Join(modcache.Dir(t, modcache.Kyverno), "config", "crds")
	var docs []*exception.Document
	for _, name := range []string{"kyverno/kyverno.io_policyexceptions.yaml", "policies.kyverno.io/policies.kyverno.io_policyexceptions.yaml"} {
		raw, err := os.ReadFile(filepath.Join(crds, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, parseOne(t, string(raw)))
	}
	defined, err := exception.ReadDefinitions(docs)
	if err != nil {
		t.Fatal(err)
	}
	for group, versions := range map[string][]string{exception.KyvernoGroup: {"v2", "v2beta1"}, exception.PoliciesGroup: {"v1", "v1beta1", "v1alpha1"}} {
		for _, version := range versions {
			table, _ := exception.SchemaAsOpenAPI(group, version)
			read, known := defined.AsOpenAPI(group, version)
			if !known {
				t.Errorf("%s/%s is not known", group, version)
			}
			if diff := cmp.Diff(table, read, anyOrder); diff != "" {
				t.Errorf("%s/%s (-table +definition):\n%s", group, version, diff)
			}
		}
	}
}
