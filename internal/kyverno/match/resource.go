package match

import (
	"slices"
	"sync"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Resource is an object that an exception may exempt, as its file says it.
type Resource struct {
	Id                  exception.Identity
	Version             string
	labels, annotations map[string]string
	generated           bool // the name is the beginning of one
	clusterScoped       bool
	tree                func() map[string]any // the object, made when it is first asked for
	Home                *Namespace            // nil where the file does not say the namespace
	self                *Namespace            // of a Namespace, itself
}

// Namespace is what is known of a Namespace.
type Namespace struct {
	Labels, annotations map[string]string
	// written is set when a document says the labels. Otherwise only the one is
	// known that the API server puts on.
	Written bool
}

// readResource returns nil for what is no object of a cluster.
func readResource(d *exception.Document) *Resource {
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
	return &Resource{
		Id: id, Version: d.Version(), labels: manifest.StringMap(labels), annotations: manifest.StringMap(annotations),
		generated: generated, clusterScoped: slices.Contains(manifest.ClusterScopedKinds[id.Group], id.Kind), tree: sync.OnceValue(d.Object),
	}
}

// inNamespace returns the namespace that a filter's namespaces are held
// against: to Kyverno, a Namespace is in itself. It is not known where the file
// leaves it to kustomize, kubectl or the kind.
func (r *Resource) inNamespace() (name string, known bool) {
	if r.Id.Kind == "Namespace" {
		return r.Id.Name, true
	}
	return r.Id.Namespace, r.Id.Namespace != "" || r.clusterScoped
}

// isNamespace reports whether the resource is a Namespace of Kubernetes.
func (r *Resource) isNamespace() bool { return r.Id.Kind == "Namespace" && r.Id.Group == "" }

// homeless reports whether the resource is in a namespace that its file does not
// say, or might be.
func (r *Resource) homeless() bool { return r.Id.Namespace == "" && !r.clusterScoped }

// namespaceMatches reports whether a selector takes the resource's namespace.
// Labels that no file says count as matching.
func (r *Resource) namespaceMatches(work *wildcard.Meter, s *LabelSelector) bool {
	if r.clusterScoped {
		return s.matches(work, nil)
	}
	if r.Home == nil || s.matches(work, r.Home.Labels) {
		return true
	}
	if r.Home.Written || s.Broken {
		return false
	}
	for key := range s.Labels {
		if key == manifest.LabelOfNamespace && !hasPair(work, key, s.Labels[key], r.Home.Labels) {
			return false
		}
	}
	for _, e := range s.Expressions {
		if one := (&LabelSelector{Expressions: []LabelExpression{e}}); e.Key == manifest.LabelOfNamespace && !one.matches(work, r.Home.Labels) {
			return false
		}
	}
	return true
}
