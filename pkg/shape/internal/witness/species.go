package witness

import (
	"strings"

	"github.com/google/cel-go/common/types/ref"

	"github.com/polex-dev/polex/pkg/shape/internal/expression"
)

// species is what made-up resources of a kind have in common.
type species struct {
	group, version, kind string
	fields               map[string]ref.Val // beside metadata
}

func newSpecies(group, version, kind string, fields map[string]any) *species {
	is := &species{group, version, kind, map[string]ref.Val{}}
	for name, value := range fields {
		is.fields[name] = expression.Value(value)
	}
	return is
}

func (is *species) apiVersion() string { return strings.TrimPrefix(is.group+"/"+is.version, "/") }

// knownSpecies are of kinds that every cluster has, by their scope.
var knownSpecies = func() map[string][]*species {
	type fields = map[string]any
	pod := fields{
		"containers":         []any{fields{"name": "main", "image": "registry.example/main@sha256:9f1c", "resources": fields{}}},
		"serviceAccountName": "default",
	}
	return map[string][]*species{
		namespaced: {
			newSpecies("", "v1", "Pod", fields{"spec": pod}),
			newSpecies("apps", "v1", "Deployment", fields{"spec": fields{"replicas": int64(2), "template": fields{"spec": pod}}}),
			newSpecies("", "v1", "ConfigMap", fields{"data": fields{}}),
		},
		clusterScoped: {
			newSpecies("rbac.authorization.k8s.io", "v1", "ClusterRole", fields{"rules": []any{}}),
			newSpecies("storage.k8s.io", "v1", "StorageClass", fields{"provisioner": "csi.example"}),
			newSpecies("", "v1", "PersistentVolume", fields{"spec": fields{"capacity": fields{"storage": "1Gi"}}}),
		},
	}
}()

var namespaceSpecies = newSpecies("", "v1", "Namespace", nil)

// ofKind returns the species of a kind, or nil if it is known to have another
// scope.
func (t *Trial) ofKind(kind, scope string) *species {
	for _, in := range allScopes {
		for _, is := range knownSpecies[in] {
			switch {
			case is.kind != kind:
			case in == scope:
				return is
			default:
				return nil
			}
		}
	}
	is := t.met[kind]
	if is == nil {
		is = newSpecies("apps", "v1", kind, map[string]any{"spec": map[string]any{}})
		t.met[kind] = is
	}
	return is
}

// strange returns one of some species that nobody has heard of.
func (t *Trial) strange(nth int) *species {
	is := t.unheardOf[nth]
	if is == nil {
		words := t.reserve(2)
		kind := strings.ReplaceAll(t.text(words+1), "-", "")
		is = newSpecies(t.text(words)+domain, "v1alpha1", strings.ToUpper(kind[:1])+kind[1:], nil)
		t.unheardOf[nth] = is
	}
	return is
}
