package adopt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/seal"
)

// serverFields are the fields of metadata that the API server and its controllers set.
var serverFields = []string{"managedFields", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp",
	"deletionGracePeriodSeconds", "generation", "ownerReferences", "selfLink"}

// added are the prefixes of other labels and annotations of Helm, Flux and kustomize.
var added = []string{"meta.helm.sh/", "helm.sh/", "helm.toolkit.fluxcd.io/", "reconcile.fluxcd.io/",
	"kustomize.toolkit.fluxcd.io/checksum", "config.kubernetes.io/", "internal.config.kubernetes.io/"}

// clean removes the fields that no person wrote: nulls, which the API server drops, the status, and
// fields that servers added. tools also removes the labels and annotations of delivery tools.
func clean(object map[string]any, tools bool) {
	dropNulls(object)
	delete(object, "status")
	metadata := mapping(object, "metadata")
	for _, field := range serverFields {
		delete(metadata, field)
	}
	for _, field := range []string{"labels", "annotations"} {
		of := mapping(metadata, field)
		maps.DeleteFunc(of, func(name string, value any) bool {
			return tools && (seal.Tracks(field, name, value) || name == "app.kubernetes.io/managed-by" &&
				value == "Helm" ||
				slices.ContainsFunc(added, func(prefix string) bool { return strings.HasPrefix(name, prefix) }))
		})
		if _, there := metadata[field]; there && len(of) == 0 {
			delete(metadata, field)
		}
	}
}

// leaveKyverno removes the namespace kyverno from lists that have other namespaces, and reports
// whether it did. No exception may exempt resources of that namespace.
func leaveKyverno(object map[string]any) (found bool) {
	for _, of := range []string{"any", "all"} {
		for _, filter := range list(object, "spec", "match", of) {
			resources := mapping(filter, "resources")
			all, _ := resources["namespaces"].([]any)
			if left := slices.DeleteFunc(slices.Clone(all),
				func(name any) bool { return name == "kyverno" }); len(left) > 0 &&
				len(left) < len(all) {
				resources["namespaces"], found = left, true
			}
		}
	}
	return found
}

// update replaces an apiVersion that Kyverno no longer serves with the newest one, as the checks ask for,
// and returns a note about it. The fields of the versions are the same.
func update(object map[string]any) (note string) {
	kind, before := groupKind(object), text(object, "apiVersion")
	v, known := kyverno.VersionOf(kind, strings.TrimPrefix(before, kind.Group+"/"))
	if !known || v.To == 0 {
		return ""
	}
	object["apiVersion"] = kyverno.MatchDeprecated.Newest(kind)
	return fmt.Sprintf("%s is now %s: Kyverno serves %s only until 1.%d", before, object["apiVersion"], v.Name, v.To)
}

func dropNulls(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, in := range value {
			if in == nil {
				delete(value, name)
				continue
			}
			dropNulls(in)
		}
	case []any:
		for _, in := range value {
			dropNulls(in)
		}
	}
}
