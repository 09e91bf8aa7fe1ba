package manifest

import (
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// PodControllers are the kinds for which Kyverno generates rules, with their API groups.
var PodControllers = map[string]string{
	"DaemonSet": "apps", "Deployment": "apps", "ReplicaSet": "apps", "StatefulSet": "apps", "ReplicationController": "",
	"Job": "batch", "CronJob": "batch",
}

// GroupOf returns the group of some common kinds of Kubernetes, "" for others.
func GroupOf(kind string) string {
	if group := GroupOfClusterScoped(kind); group != "*" {
		return group
	}
	return PodControllers[kind]
}

// MadeKinds are kinds of objects that mostly controllers create. Such objects are not in a
// repository.
var MadeKinds = []string{"Pod", "ReplicaSet", "Job", "ControllerRevision", "Endpoints", "EndpointSlice", "Event"}

// LabelOfNamespace is set on every Namespace and contains its name.
const LabelOfNamespace = "kubernetes.io/metadata.name"

// LongestName is the maximum length of a name in the API server. A document with a longer name is
// neither a policy nor a resource.
const LongestName = 253

// Words returns the texts of a list.
func Words(value any) []string {
	items, _ := value.([]any)
	var found []string
	for _, item := range items {
		if text, ok := item.(string); ok {
			found = append(found, text)
		}
	}
	return found
}

// StringMap returns the texts of a map.
func StringMap(value any) map[string]string {
	tree, _ := value.(map[string]any)
	found := make(map[string]string, len(tree))
	for key, item := range tree {
		if text, ok := item.(string); ok {
			found[key] = text
		}
	}
	return found
}

// Objects replaces lists by their items, as kubectl does.
func Objects(docs []*exception.Document) []*exception.Document {
	var found []*exception.Document
	for _, d := range docs {
		if !strings.HasSuffix(d.Text("kind"), "List") {
			found = append(found, d)
			continue
		}
		items, _ := d.Object()["items"].([]any)
		for _, item := range items {
			object, _ := item.(map[string]any)
			// The list was parsed, so its items have JSON types and are within the limits.
			if one, err := exception.FromObject(object); err == nil && len(object) > 0 {
				found = append(found, one)
			}
		}
	}
	return found
}

// SignaturePrefix is the prefix of signature annotations.
const SignaturePrefix = "cosign.sigstore.dev/"

// SignatureKeys returns the sorted keys of the signature annotations.
func SignatureKeys(d *exception.Document) []string {
	annotations, _ := d.Lookup("metadata", "annotations")
	tree, _ := annotations.(map[string]any)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(tree)),
		func(key string) bool { return !strings.HasPrefix(key, SignaturePrefix) })
}
