package shape

import (
	"slices"
	"sync"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/manifest"
	"github.com/polex-dev/polex/pkg/shape/internal/wildcard"
)

// resource is an object that an exception may exempt, as its file says it.
type resource struct {
	id                  exception.Identity
	version             string
	labels, annotations map[string]string
	generated           bool // the name is the beginning of one
	clusterScoped       bool
	tree                func() map[string]any // the object, made when it is first asked for
	home                *namespace            // nil where the file does not say the namespace
	self                *namespace            // of a Namespace, itself
}

// namespace is what is known of a Namespace.
type namespace struct {
	labels, annotations map[string]string
	// written is set when a document says the labels. Otherwise only the one is
	// known that the API server puts on.
	written bool
}

// readResource returns nil for what is no object of a cluster.
func readResource(d *exception.Document) *resource {
	id := d.Identity()
	generated := id.Name == ""
	if generated {
		id.Name = d.Text("metadata", "generateName")
	}
	if id.Kind == "" || id.Name == "" || d.Version() == "" || id.Group == "kustomize.config.k8s.io" ||
		len(id.Name) > manifest.LongestName || len(id.Namespace) > manifest.LongestName || len(id.Kind) > manifest.LongestName || len(id.Group) > manifest.LongestName {
		return nil
	}
	if id.Kind == "Namespace" && id.Group == "" {
		id.Namespace = ""
	}
	labels, _ := d.Lookup("metadata", "labels")
	annotations, _ := d.Lookup("metadata", "annotations")
	return &resource{
		id: id, version: d.Version(), labels: manifest.StringMap(labels), annotations: manifest.StringMap(annotations),
		generated: generated, clusterScoped: slices.Contains(manifest.ClusterScopedKinds[id.Group], id.Kind), tree: sync.OnceValue(d.Object),
	}
}

// inNamespace returns the namespace that a filter's namespaces are held
// against: to Kyverno, a Namespace is in itself. It is not known where the file
// leaves it to kustomize, kubectl or the kind.
func (r *resource) inNamespace() (name string, known bool) {
	if r.id.Kind == "Namespace" {
		return r.id.Name, true
	}
	return r.id.Namespace, r.id.Namespace != "" || r.clusterScoped
}

// isNamespace reports whether the resource is a Namespace of Kubernetes.
func (r *resource) isNamespace() bool { return r.id.Kind == "Namespace" && r.id.Group == "" }

// homeless reports whether the resource is in a namespace that its file does not
// say, or might be.
func (r *resource) homeless() bool { return r.id.Namespace == "" && !r.clusterScoped }

// namespaceMatches reports whether a selector takes the resource's namespace.
// Labels that no file says count as matching.
func (r *resource) namespaceMatches(work *wildcard.Meter, s *labelSelector) bool {
	if r.clusterScoped {
		return s.matches(work, nil)
	}
	if r.home == nil || s.matches(work, r.home.labels) {
		return true
	}
	if r.home.written || s.broken {
		return false
	}
	for key := range s.labels {
		if key == manifest.LabelOfNamespace && !hasPair(work, key, s.labels[key], r.home.labels) {
			return false
		}
	}
	for _, e := range s.expressions {
		if one := (&labelSelector{expressions: []labelExpression{e}}); e.key == manifest.LabelOfNamespace && !one.matches(work, r.home.labels) {
			return false
		}
	}
	return true
}
