package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/guard"
)

// DefinitionKind is the kind of the objects that define other kinds.
var DefinitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// DefinitionName is the name of the definition of exceptions in a group.
func DefinitionName(group string) string { return "policyexceptions." + group }

// Definitions reads how the cluster converts exceptions. A definition is large and does
// not change, so it is read as a whole once for each resourceVersion.
type Definitions struct {
	Client client.Client // that asks the API server at every call

	read map[exception.GroupKind]definition
}

type definition struct{ resourceVersion, conversion string }

// Read returns what converts exceptions of both groups. A group without a definition is
// left out.
func (d *Definitions) Read(ctx context.Context) (guard.Conversions, error) {
	if d.read == nil {
		d.read = map[exception.GroupKind]definition{}
	}
	all := guard.Conversions{}
	for _, group := range []string{exception.KyvernoGroup, exception.PoliciesGroup} {
		kind := exception.GroupKind{Group: group, Kind: exception.Kind}
		name := types.NamespacedName{Name: DefinitionName(group)}
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
		if known.resourceVersion != short.GetResourceVersion() {
			whole := &unstructured.Unstructured{}
			whole.SetGroupVersionKind(DefinitionKind)
			if err := d.Client.Get(ctx, name, whole); err != nil {
				return nil, fmt.Errorf("read the definition %s: %w", name.Name, err)
			}
			known = definition{whole.GetResourceVersion(), Conversion(whole)}
			d.read[kind] = known
		}
		all[kind] = known.conversion
	}
	return all, nil
}

// Conversion says what converts the objects of a definition: "" for the API server
// itself.
func Conversion(definition *unstructured.Unstructured) string {
	strategy, _, err := unstructured.NestedString(definition.Object, "spec", "conversion", "strategy")
	if err == nil && (strategy == "None" || strategy == "") {
		return ""
	}
	where := "spec.conversion.webhook"
	if url, _, _ := unstructured.NestedString(definition.Object, "spec", "conversion", "webhook", "clientConfig", "url"); url != "" {
		where = url
	} else if service, _, _ := unstructured.NestedMap(definition.Object, "spec", "conversion", "webhook", "clientConfig", "service"); service != nil {
		where = fmt.Sprintf("the Service %v/%v", service["namespace"], service["name"])
	}
	return fmt.Sprintf("a webhook (%q)", where)
}
