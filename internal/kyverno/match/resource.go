package match

import (
	"slices"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Resource is an object that an exception may exempt, as in its file.
type Resource struct {
	Id                  exception.Identity
	Version             string
	labels, annotations map[string]string
	clusterScoped       bool
	Home                *Namespace // nil: the file does not contain the namespace
}

// Namespace contains the known labels of a Namespace.
type Namespace struct {
	Labels map[string]string
	// Written means that a document contains the labels. Otherwise only the label of the API server
	// is known.
	Written bool
}

// readResource returns nil for a document that is not an object of a cluster.
func readResource(d *exception.Document) *Resource {
	id := d.Identity()
	if id.Name == "" {
		id.Name = d.Text("metadata", "generateName")
	}
	if id.Kind == "" || id.Name == "" || d.Version() == "" || id.Group == "kustomize.config.k8s.io" ||
		len(id.Name) > manifest.LongestName || len(id.Namespace) > manifest.LongestName ||
		len(id.Kind) > manifest.LongestName || len(id.Group) > manifest.LongestName {
		return nil
	}
	if id.Kind == "Namespace" && id.Group == "" {
		id.Namespace = ""
	}
	labels, _ := d.Lookup("metadata", "labels")
	annotations, _ := d.Lookup("metadata", "annotations")
	return &Resource{
		Id: id, Version: d.Version(), labels: manifest.StringMap(labels), annotations: manifest.StringMap(annotations),
		clusterScoped: slices.Contains(manifest.ClusterScopedKinds[id.Group], id.Kind),
	}
}

// inNamespace returns the namespace to compare with the namespaces of a filter. For Kyverno, a
// Namespace is in itself. The namespace is unknown if kustomize, kubectl or the kind determines it.
func (r *Resource) inNamespace() (name string, known bool) {
	if r.Id.Kind == "Namespace" {
		return r.Id.Name, true
	}
	return r.Id.Namespace, r.Id.Namespace != "" || r.clusterScoped
}

// namespaceMatches reports whether a selector matches the namespace of the resource. Unknown labels
// count as matching.
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
		if one := (&LabelSelector{Expressions: []LabelExpression{e}}); e.Key == manifest.LabelOfNamespace &&
			!one.matches(work, r.Home.Labels) {
			return false
		}
	}
	return true
}
