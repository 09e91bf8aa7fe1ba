package cluster

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

// DefinitionKind is CustomResourceDefinition.
var DefinitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// Plural is the resource of exceptions in the paths of the API. It is fixed by the name of their
// definition, but the names in its status decide what discovery and admission see.
const Plural = "policyexceptions"

// DefinitionName returns the name of the definition of PolicyException in a group.
func DefinitionName(group string) string { return Plural + "." + group }

// Definitions reads how the cluster converts exceptions. A definition is large and rarely changes,
// so it is read as a whole only once for each resourceVersion.
type Definitions struct {
	Client client.Client // without a cache

	read map[exception.GroupKind]definition
}

type definition struct {
	resourceVersion, conversion, spec string
	// changed means that the spec was another one at the previous read. The API server may still serve
	// objects by the previous one.
	changed bool
}

// Read returns the conversions of the exceptions of both groups. It omits a group without a
// definition.
func (d *Definitions) Read(ctx context.Context) (guard.Conversions, error) {
	if d.read == nil {
		d.read = map[exception.GroupKind]definition{}
	}
	all := guard.Conversions{}
	for _, kind := range kyverno.Kinds() {
		name := types.NamespacedName{Name: DefinitionName(kind.Group)}
		short := &metav1.PartialObjectMetadata{}
		short.SetGroupVersionKind(DefinitionKind)
		err := d.Client.Get(ctx, name, short)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the definition %s: %w", name.Name, err)
		}
		known := d.read[kind]
		known.changed = false
		if known.resourceVersion != short.GetResourceVersion() {
			whole := &unstructured.Unstructured{}
			whole.SetGroupVersionKind(DefinitionKind)
			if err := d.Client.Get(ctx, name, whole); err != nil {
				return nil, fmt.Errorf("read the definition %s: %w", name.Name, err)
			}
			spec := fmt.Sprintf("%s, generation %d", whole.GetUID(), whole.GetGeneration())
			known = definition{whole.GetResourceVersion(), Conversion(whole), spec, known.spec != "" && known.spec != spec}
		}
		d.read[kind] = known
		all[kind] = guard.Definition{Conversion: known.conversion, Spec: known.spec}
		if known.changed {
			all[kind] = guard.Definition{Conversion: known.conversion, Spec: known.spec + ", new"}
		}
	}
	return all, nil
}

// Conversion returns the cause of differences between the versions of an object, besides the
// apiVersion; "" is no cause. The cause is a webhook, or a served version with another schema: the
// API server drops fields that the schema does not have, and adds defaults. Other names of a served
// definition are a cause too: the API server admits and stores exceptions as another resource, and
// does not ask the guard.
func Conversion(definition *unstructured.Unstructured) string {
	for field, want := range map[string]string{"plural": Plural, "kind": exception.Kind} {
		if name, _, err := unstructured.NestedString(definition.Object, "status", "acceptedNames", field); err != nil || name != want && (name != "" || established(definition)) {
			return fmt.Sprintf("the %s %q in its status, which is not %q,", field, name, want)
		}
	}
	strategy, _, err := unstructured.NestedString(definition.Object, "spec", "conversion", "strategy")
	if err == nil && (strategy == "None" || strategy == "") {
		return otherSchema(definition)
	}
	where := "spec.conversion.webhook"
	if url, _, _ := unstructured.NestedString(definition.Object, "spec", "conversion", "webhook", "clientConfig", "url"); url != "" {
		where = url
	} else if service, _, _ := unstructured.NestedMap(definition.Object, "spec", "conversion", "webhook", "clientConfig", "service"); service != nil {
		where = fmt.Sprintf("the Service %v/%v", service["namespace"], service["name"])
	}
	return fmt.Sprintf("a webhook (%q)", where)
}

// established reports whether the API server serves a definition.
func established(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == "Established" && condition["status"] == "True"
	})
}

// otherSchema names a served version with another schema than the first one. In Kyverno 1.11 to
// 1.19, all schemas are equal except for their descriptions.
func otherSchema(definition *unstructured.Unstructured) string {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	var first, named any
	for _, item := range versions {
		version, _ := item.(map[string]any)
		if version["served"] != true {
			continue
		}
		fields, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties")
		schema := undescribed(fields["spec"])
		switch {
		case named == nil:
			first, named = schema, version["name"]
		case !reflect.DeepEqual(schema, first):
			return fmt.Sprintf("the schema of version %q, which is not that of %q,", version["name"], named)
		}
	}
	return ""
}

// undescribed returns a schema without descriptions.
func undescribed(schema any) any {
	switch v := schema.(type) {
	case map[string]any:
		plain := make(map[string]any, len(v))
		for key, value := range v {
			if _, isText := value.(string); key == "description" && isText {
				continue
			}
			plain[key] = undescribed(value)
		}
		return plain
	case []any:
		plain := make([]any, len(v))
		for i, item := range v {
			plain[i] = undescribed(item)
		}
		return plain
	}
	return schema
}
