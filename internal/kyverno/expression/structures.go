package expression

import (
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// structures are the object types of match conditions with their fields, as k8s.io/apiserver
// declares them for admission. Kyverno adds the two objects to the request.
func structures() map[string]map[string]*cel.Type {
	list, texts := cel.ListType, cel.MapType(cel.StringType, cel.StringType)
	kind, resource := cel.ObjectType("kubernetes.GroupVersionKind"), cel.ObjectType("kubernetes.GroupVersionResource")
	return map[string]map[string]*cel.Type{
		"kubernetes.GroupVersionKind":     {"group": cel.StringType, "version": cel.StringType, "kind": cel.StringType},
		"kubernetes.GroupVersionResource": {"group": cel.StringType, "version": cel.StringType, "resource": cel.StringType},
		"kubernetes.UserInfo": {
			"username": cel.StringType, "uid": cel.StringType, "groups": list(cel.StringType),
			"extra": cel.MapType(cel.StringType, list(cel.StringType)),
		},
		requestType: {
			"kind": kind, "resource": resource, "subResource": cel.StringType,
			"requestKind": kind, "requestResource": resource, "requestSubResource": cel.StringType,
			"name": cel.StringType, "namespace": cel.StringType, "operation": cel.StringType,
			"userInfo": cel.ObjectType("kubernetes.UserInfo"), "dryRun": cel.BoolType, "options": cel.DynType,
			"object": cel.DynType, "oldObject": cel.DynType,
		},
		namespaceType: {
			"metadata": cel.ObjectType("kubernetes.NamespaceMetadata"),
			"spec":     cel.ObjectType("kubernetes.NamespaceSpec"),
			"status":   cel.ObjectType("kubernetes.NamespaceStatus"),
		},
		"kubernetes.NamespaceMetadata": {
			"name": cel.StringType, "generateName": cel.StringType, "namespace": cel.StringType,
			"labels": texts, "annotations": texts, "UID": cel.StringType,
			"creationTimestamp": cel.TimestampType, "deletionGracePeriodSeconds": cel.IntType, "deletionTimestamp": cel.TimestampType,
			"generation": cel.IntType, "resourceVersion": cel.StringType, "finalizers": list(cel.StringType),
		},
		"kubernetes.NamespaceSpec":   {"finalizers": list(cel.StringType)},
		"kubernetes.NamespaceStatus": {"conditions": list(cel.ObjectType("kubernetes.NamespaceCondition")), "phase": cel.StringType},
		"kubernetes.NamespaceCondition": {
			"status": cel.StringType, "type": cel.StringType, "lastTransitionTime": cel.TimestampType,
			"message": cel.StringType, "reason": cel.StringType,
		},
	}
}

const (
	requestType   = "kubernetes.AdmissionRequest"
	namespaceType = "kubernetes.Namespace"
)

// provider makes structures known to CEL's checker.
type provider struct {
	types.Provider
	structures map[string]map[string]*cel.Type
}

// withStructures declares object types by the names and types of their fields.
func withStructures(structures map[string]map[string]*cel.Type) cel.EnvOption {
	return func(env *cel.Env) (*cel.Env, error) {
		return cel.CustomTypeProvider(provider{env.CELTypeProvider(), structures})(env)
	}
}

func (p provider) FindStructType(name string) (*types.Type, bool) {
	if _, ok := p.structures[name]; ok {
		return types.NewTypeTypeWithParam(cel.ObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if fields, ok := p.structures[name]; ok {
		return slices.Sorted(maps.Keys(fields)), true
	}
	return p.Provider.FindStructFieldNames(name)
}

func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if fields, ok := p.structures[name]; ok {
		t, found := fields[field]
		return &types.FieldType{Type: t}, found
	}
	return p.Provider.FindStructFieldType(name, field)
}
