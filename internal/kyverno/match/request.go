package match

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/polex-dev/polex/internal/kyverno/expression"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
)

// resourceRequest contains the variables of a condition for a request about a resource at a stage.
// Values come from the files of the resource and its namespace; others are unknown.
type resourceRequest struct {
	*Resource
	stage
	noted *Assumptions // see sketch
}

// ResolveName returns the value of a variable.
func (q *resourceRequest) ResolveName(name string) (any, bool) {
	switch {
	case name == "object":
		return q.occupied(q.object), true
	case name == "namespaceObject":
		return q.namespaceObject(), true
	case q.operation == scheduled:
		// An error, because each loop around a missing variable would look for it twice.
		return types.NewErr("no such variable: %s", name), true
	case name == "oldObject":
		return q.occupied(q.oldObject), true
	case name == "request":
		return q.sketch(q.requestField, assumedSender|assumedServerFields|assumedResourceName), true
	}
	return nil, false
}

// Parent returns nil: there are no other variables.
func (q *resourceRequest) Parent() cel.Activation { return nil }

func (q *resourceRequest) sketch(field func(string) (ref.Val, bool), missing Assumptions) *sketch {
	return &sketch{Mapper: expression.NoKeys, field: field, missing: missing, noted: q.noted}
}

func (q *resourceRequest) occupied(by occupant) ref.Val {
	switch by {
	case asWritten:
		return q.sketch(q.objectField, assumedServerFields)
	case noFields:
		return expression.NoKeys
	default:
		return types.NullValue
	}
}

// objectField returns a field of the resource from its file. It does not add defaults. Fields that
// are never in a file are unknown.
func (q *resourceRequest) objectField(name string) (ref.Val, bool) {
	switch name {
	case "metadata":
		return q.sketch(q.metadataField, assumedServerFields), true
	case "status":
		return assumedServerFields.unknown(), true
	}
	value, said := q.tree()[name]
	return expression.Value(value), said
}

// serverFields are the metadata fields that the API server sets, regardless of the file.
var serverFields = []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"}

func (q *resourceRequest) metadataField(name string) (ref.Val, bool) {
	switch {
	case slices.Contains(serverFields, name):
		return assumedServerFields.unknown(), true
	case name == "name" && q.generated:
		return assumedName.unknown(), true
	case name == "namespace" && q.homeless():
		return assumedNamespace.unknown(), true
	}
	metadata, _ := q.tree()["metadata"].(map[string]any)
	value, said := metadata[name]
	return expression.Value(value), said
}

// requestField returns a field of the admission request. An empty field is absent.
func (q *resourceRequest) requestField(name string) (ref.Val, bool) {
	switch name {
	case "operation":
		return types.String(q.operation), true
	case "name":
		if q.generated {
			return assumedName.unknown(), true
		}
		return types.String(q.Id.Name), true
	case "namespace":
		return q.requestNamespace()
	case "userInfo":
		return assumedSender.unknown(), true
	case "kind", "requestKind":
		return q.sketch(q.kindField, 0), true
	case "resource", "requestResource":
		return q.sketch(q.resourceField, assumedResourceName), true
	case "object":
		return q.occupiedInRequest(q.object), true
	case "oldObject":
		return q.occupiedInRequest(q.oldObject), true
	case "dryRun", "options":
		return assumedServerFields.unknown(), true
	}
	return nil, false
}

// occupiedInRequest is occupied for fields of the request, where a missing object is null.
func (q *resourceRequest) occupiedInRequest(by occupant) ref.Val {
	if by == asWritten {
		return q.occupied(by)
	}
	return types.NullValue
}

func (q *resourceRequest) requestNamespace() (ref.Val, bool) {
	switch {
	case q.isNamespace():
		return types.String(q.Id.Name), true // as in the API server
	case q.homeless():
		return assumedNamespace.unknown(), true
	}
	return types.String(q.Id.Namespace), q.Id.Namespace != ""
}

func (q *resourceRequest) kindField(name string) (ref.Val, bool) {
	switch name {
	case "group":
		return types.String(q.Id.Group), true
	case "version":
		return types.String(q.Version), true
	case "kind":
		return types.String(q.Id.Kind), true
	}
	return nil, false
}

func (q *resourceRequest) resourceField(name string) (ref.Val, bool) {
	ofKubernetes := !strings.Contains(q.Id.Group, ".") || strings.HasSuffix(q.Id.Group, ".k8s.io")
	switch {
	case name == "resource" && !ofKubernetes:
		return assumedResourceName.unknown(), true
	case name == "resource":
		return types.String(manifest.NameInURLs(q.Id.Kind)), true
	case name == "kind":
		return nil, false
	}
	return q.kindField(name)
}

// namespaceObject returns the Namespace of the request. It is null if there is none, or none yet.
func (q *resourceRequest) namespaceObject() ref.Val {
	home := q.Home
	switch {
	case q.homeless():
		return assumedNamespace.unknown()
	case q.isNamespace() && q.operation != "CREATE":
		home = q.self
	}
	if home == nil {
		return types.NullValue
	}
	const missing = assumedServerFields | assumedNamespaceLabels
	return q.sketch(func(name string) (ref.Val, bool) {
		if name != "metadata" {
			return assumedServerFields.unknown(), name == "spec" || name == "status"
		}
		return q.sketch(func(name string) (ref.Val, bool) { return q.homeField(home, name) }, missing), true
	}, missing)
}

func (q *resourceRequest) homeField(home *Namespace, name string) (ref.Val, bool) {
	switch {
	case name == "name":
		return types.String(home.Labels[manifest.LabelOfNamespace]), true
	case name == "labels" && home.Written:
		return expression.Value(home.Labels), true
	case name == "labels":
		return q.sketch(func(key string) (ref.Val, bool) {
			if label, is := home.Labels[key]; is {
				return types.String(label), true
			}
			return assumedNamespaceLabels.unknown(), true
		}, assumedNamespaceLabels), true
	case name == "annotations" && home.Written:
		return expression.Value(home.annotations), len(home.annotations) > 0
	case name == "annotations":
		return assumedNamespaceLabels.unknown(), true
	}
	return assumedServerFields.unknown(), slices.Contains(serverFields, name)
}
