package shape_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/modcache"
	"github.com/polex-dev/polex/test/must"
)

// engines are releases of Kyverno before and after every change that the check knows. The module
// proxy has none of 1.16.
var engines = []string{"v1.11.4", "v1.12.5", "v1.13.6", "v1.14.4", "v1.15.2", "v1.17.2", "v1.18.2", "v1.19.1"}

// definitions returns, for each API version of PolicyException that a release serves, the fields of its spec.
func definitions(t *testing.T, version string) map[string]map[string]any {
	t.Helper()
	served := map[string]map[string]any{}
	crds := filepath.Join(modcache.Dir(t, modcache.KyvernoModule+"@"+version), "config", "crds")
	for _, pattern := range []string{"kyverno.io_policyexceptions.yaml", "*/*kyverno.io_policyexceptions.yaml"} {
		files := must.Get(filepath.Glob(filepath.Join(crds, pattern)))(t)
		for _, file := range files {
			raw := must.Get(os.ReadFile(file))(t)
			var crd struct {
				Spec struct {
					Group    string
					Versions []struct {
						Name   string
						Served bool
						Schema struct {
							OpenAPIV3Schema struct {
								Properties struct {
									Spec struct{ Properties map[string]any }
								}
							}
						}
					}
				}
			}
			must.Do(t, yaml.Unmarshal(raw, &crd))
			for _, v := range crd.Spec.Versions {
				if v.Served {
					served[crd.Spec.Group+"/"+v.Name] = v.Schema.OpenAPIV3Schema.Properties.Spec.Properties
				}
			}
		}
	}
	must.That(t, len(served) != 0, "Kyverno %s serves no PolicyException", version)
	return served
}

// TestEnginesAreKyvernos compares the check with the definitions of each release.
func TestEnginesAreKyvernos(t *testing.T) {
	fields := map[string][]string{
		exception.KyvernoGroup:  {"background", "conditions", "podSecurity"},
		exception.PoliciesGroup: {"matchConditions", "images", "allowedValues", "reportResult", "expiresAt", "properties", "evaluationMode"},
	}
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			served := definitions(t, engine)
			for _, api := range []string{"kyverno.io/v2alpha1", "kyverno.io/v2beta1", "kyverno.io/v2", "policies.kyverno.io/v1alpha1", "policies.kyverno.io/v1beta1", "policies.kyverno.io/v1"} {
				group := filepath.Dir(api)
				for _, field := range fields[group] {
					found := reasonsOf(t, engine, fmt.Sprintf("apiVersion: %s\nkind: PolicyException\nmetadata: {name: a, namespace: b}\nspec: {%s: x}\n", api, field))
					known, isServed := served[api]
					expect.That(t, slices.Contains(found, "unknown-version apiVersion") != isServed,
						"%s: the definitions serve it: %v; found %q", api, isServed, found)
					if _, isField := known[field]; isServed && slices.Contains(found, "unknown-field spec."+field) == isField {
						t.Errorf("%s spec.%s: the definitions have it: %v; found %q", api, field, isField, found)
					}
				}
			}
		})
	}
}

func reasonsOf(t *testing.T, engine, source string) []string {
	t.Helper()
	d := must.Get(exception.Parse([]byte(source), ""))(t)
	checker := must.Get(shape.New(shape.Config{KyvernoVersion: engine}))(t)
	var reasons []string
	for _, f := range checker.Check(d, now) {
		reasons = append(reasons, f.Reason+" "+f.Path.String())
	}
	return reasons
}
