package schema_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/kyverno/schema"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/modcache"
	"github.com/polex-dev/polex/test/must"
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

var update = flag.Bool("update", false, "write the definitions anew")

// TestSchemaIsKyvernos compares the definitions with those of Kyverno.
func TestSchemaIsKyvernos(t *testing.T) {
	source := modcache.Dir(t, modcache.Kyverno)
	definitions := map[string]any{}
	must.Do(t, json.Unmarshal(*schema.Definitions, &definitions))
	for _, tc := range []struct {
		file, group string
		served      []string
		left        []string // versions that polex knows and Kyverno no longer serves
	}{
		{"kyverno/kyverno.io_policyexceptions.yaml", exception.KyvernoGroup, []string{"v2", "v2beta1"}, []string{"v2alpha1"}},
		{"policies.kyverno.io/policies.kyverno.io_policyexceptions.yaml", exception.PoliciesGroup, []string{"v1", "v1alpha1", "v1beta1"}, nil},
	} {
		t.Run(tc.group, func(t *testing.T) {
			raw := must.Get(os.ReadFile(filepath.Join(source, "config", "crds", filepath.FromSlash(tc.file))))(t)
			var crd definition
			must.Do(t, yaml.Unmarshal(raw, &crd))
			must.That(t, crd.Spec.Group == tc.group && crd.Spec.Scope == "Namespaced",
				"group %q, scope %q", crd.Spec.Group, crd.Spec.Scope)
			var served []string
			for _, version := range crd.Spec.Versions {
				if !version.Served {
					continue
				}
				served = append(served, version.Name)
				expect.That(t, schema.IsKnown(tc.group, version.Name), "%s is served and not known", version.Name)
				want := withoutProse(version.Schema.OpenAPIV3Schema)
				if *update {
					definitions[tc.group] = want
				}
				expect.Equal(t, version.Name, want, definitions[tc.group])
			}
			if slices.Sort(served); !slices.Equal(served, tc.served) {
				t.Errorf("versions served: %v, want %v", served, tc.served)
			}
			for _, version := range tc.left {
				expect.That(t, schema.IsKnown(tc.group, version), "%s is not known", version)
			}
		})
	}
	if *update {
		written := must.Get(json.MarshalIndent(definitions, "", " "))(t)
		must.Do(t, os.WriteFile("definitions.json", append(written, '\n'), 0o644))
	}
}

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
