package adopt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
)

// serverFields are the fields of metadata that the API server and its controllers set.
var serverFields = []string{"managedFields", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "ownerReferences", "selfLink"}

// tracking are the labels and annotations with which servers and deployers track an object. A key
// that ends in a slash is a prefix.
var tracking = []string{
	"kubectl.kubernetes.io/last-applied-configuration",
	"kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace", "kustomize.toolkit.fluxcd.io/checksum", "reconcile.fluxcd.io/",
	"helm.toolkit.fluxcd.io/", "meta.helm.sh/", "helm.sh/chart",
	"helm.sh/hook", "helm.sh/hook-weight", "helm.sh/hook-delete-policy", "helm.sh/hook-output-log-policy",
	"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/instance", "argocd.argoproj.io/installation-id",
	"config.kubernetes.io/", "internal.config.kubernetes.io/",
}

// clean removes the fields that no person wrote: nulls, which the API server drops, the status, and
// fields that servers added. trackers also removes the labels and annotations of deployers.
func clean(object map[string]any, trackers bool) {
	dropNulls(object)
	delete(object, "status")
	metadata := mapping(object, "metadata")
	for _, field := range serverFields {
		delete(metadata, field)
	}
	managed := text(object, "metadata", "labels", "app.kubernetes.io/managed-by") == "Helm"
	for _, field := range []string{"labels", "annotations"} {
		of := mapping(metadata, field)
		for name := range of {
			for _, known := range tracking {
				if trackers && (name == known || strings.HasSuffix(known, "/") && strings.HasPrefix(name, known)) {
					delete(of, name)
				}
			}
		}
		if trackers && managed && field == "labels" {
			delete(of, "app.kubernetes.io/managed-by")
		}
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
			if left := slices.DeleteFunc(slices.Clone(all), func(name any) bool { return name == "kyverno" }); len(left) > 0 && len(left) < len(all) {
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
