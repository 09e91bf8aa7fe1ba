package manifest

import (
	"cmp"
	"fmt"
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

// MadeKinds are kinds of objects that mostly controllers create. Such objects are not in a repository.
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

const (
	domain = "polex.dev"
	// maxUnknown limits the keys that [UnknownKeys] compares and returns.
	maxUnknown = 100
)

// UnknownAnnotation is the reason of a finding for an [UnknownKey].
var UnknownAnnotation = exception.Reason{Name: "unknown-annotation",
	Doc: "the annotation or label looks like one of polex, and polex ignores it"}

// UnknownKey is a key that a person reads as a statement to polex, and that polex does not read.
type UnknownKey struct {
	Path          exception.Path
	Message, Hint string // untrusted text quoted
}

// UnknownKeys returns the annotations, labels and properties of polex that polex does not define, sorted, at most 100.
// Such a key is mostly a misspelt limit, such as polex.dev/expire-at. own are those of the configuration.
func UnknownKeys(d *exception.Document, own []string) []UnknownKey {
	var limits []string
	for _, key := range []string{exception.AnnotationStartsAt, exception.AnnotationExpiresIn,
		exception.AnnotationExpiresAt, exception.AnnotationCluster} {
		limits = append(limits, strings.TrimPrefix(key, domain+"/"))
	}
	defined := exception.Annotations()
	var unknown []UnknownKey
	for _, of := range []struct {
		path exception.Path
		kind string
	}{{exception.Path{"metadata", "annotations"}, "annotation"}, {exception.Path{"metadata", "labels"}, "label"},
		{exception.Path{"spec", "properties"}, "property"}} {
		value, _ := d.Lookup(of.path...)
		keys, _ := value.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			isDefined := slices.Contains(defined, key)
			// A label such as cluster is often somebody else's.
			limit := slices.Contains(limits, key) && (of.kind == "property" || key != "cluster")
			misplaced := of.kind == "annotation" && key == exception.LabelTTL
			switch {
			case len(unknown) == maxUnknown:
				return unknown
			case slices.Contains(own, key), isDefined && of.kind == "annotation",
				!limit && !misplaced && !claims(key, defined):
				continue
			}
			_, name, _ := strings.Cut(key, "/")
			hint := cmp.Or(exception.Nearest(key, defined), exception.Nearest(domain+"/"+name, defined))
			switch {
			case isDefined:
				hint = "write it as an annotation"
			case misplaced:
				hint = "write it as a label"
			case limit:
				hint = "write the annotation " + domain + "/" + key
			case hint == "":
				hint = "remove it, or use a key outside of " + domain + "; polex reads: " +
					strings.Join(defined[:8], ", ")
			}
			unknown = append(unknown, UnknownKey{Path: of.path.With(key), Hint: hint,
				Message: fmt.Sprintf("polex does not read the %s %q", of.kind, exception.Shortened(key))})
		}
	}
	return unknown
}

// claims reports whether a key looks like one of polex: it is under polex.dev in any letter case, or a defined name
// is under a domain like it, such as polex.io.
func claims(key string, defined []string) bool {
	under, name, _ := strings.Cut(strings.ToLower(key), "/")
	rest, ours := strings.CutPrefix(under, domain)
	if ours && strings.TrimLeft(rest, ".-_") != rest || under == domain || strings.HasSuffix(under, "."+domain) {
		return true
	}
	return slices.Contains(defined, domain+"/"+name) &&
		(under == "polex" || strings.HasPrefix(under, "polex.") || exception.Nearest(under, []string{domain}) != "")
}
