package schema_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/kyverno/schema"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/modcache"
)

type definition struct {
	Spec struct {
		Group    string
		Scope    string
		Versions []struct {
			Name   string
			Served bool
			Schema struct{ OpenAPIV3Schema map[string]any }
		}
	}
}

func TestSchemaIsKyvernos(t *testing.T) {
	source := modcache.Dir(t, modcache.Kyverno)
	for _, tc := range []struct {
		file, group string
		served      []string
		left        []string // versions that polex knows and Kyverno no longer serves
	}{
		{"kyverno/kyverno.io_policyexceptions.yaml", exception.KyvernoGroup, []string{"v2", "v2beta1"}, []string{"v2alpha1"}},
		{"policies.kyverno.io/policies.kyverno.io_policyexceptions.yaml", exception.PoliciesGroup, []string{"v1", "v1alpha1", "v1beta1"}, nil},
	} {
		t.Run(tc.group, func(t *testing.T) {
			raw := expect.Value(os.ReadFile(filepath.Join(source, "config", "crds", filepath.FromSlash(tc.file))))(t)
			var crd definition
			expect.OK(t, yaml.Unmarshal(raw, &crd))
			if crd.Spec.Group != tc.group || crd.Spec.Scope != "Namespaced" {
				t.Fatalf("group %q, scope %q", crd.Spec.Group, crd.Spec.Scope)
			}
			var served []string
			for _, version := range crd.Spec.Versions {
				if !version.Served {
					continue
				}
				served = append(served, version.Name)
				table, known := schema.AsOpenAPI(tc.group, version.Name)
				if !known {
					t.Errorf("%s is served and the table does not know it", version.Name)
				}
				want := withoutProse(version.Schema.OpenAPIV3Schema).(map[string]any)
				// The definitions require less at the top than the API server: a document without
				// these has no kind or name.
				want["required"] = append([]any{"apiVersion", "kind", "metadata"}, want["required"].([]any)...)
				if diff := cmp.Diff(want, any(table).(map[string]any), anyOrder); diff != "" {
					t.Errorf("%s: the table is not the definition (-definition +table):\n%s", version.Name, diff)
				}
			}
			if slices.Sort(served); !slices.Equal(served, tc.served) {
				t.Errorf("versions served: %v, want %v", served, tc.served)
			}
			for _, version := range tc.left {
				if _, known := schema.AsOpenAPI(tc.group, version); !known {
					t.Errorf("%s is not known", version)
				}
			}
		})
	}
}

// anyOrder compares lists of texts ("required", "enum") as sets.
var anyOrder = cmpopts.SortSlices(func(a, b any) bool {
	x, xText := a.(string)
	y, yText := b.(string)
	return xText && yText && x < y
})

// withoutProse removes the parts of a definition that do not constrain values.
func withoutProse(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			_, isText := item.(string)
			switch {
			case isText && (key == "description" || key == "x-kubernetes-list-type" || key == "x-kubernetes-map-type"):
			default:
				out[key] = withoutProse(item)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = withoutProse(item)
		}
		return out
	default:
		return value
	}
}
