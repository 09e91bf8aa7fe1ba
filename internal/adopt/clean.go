package adopt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// serverFields are the fields of metadata that the API server and its controllers set.
var serverFields = []string{"managedFields", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp",
	"deletionGracePeriodSeconds", "generation", "ownerReferences", "selfLink"}

// clean removes the fields that no person wrote: nulls, which the API server drops, the status, and
// fields, labels and annotations that servers and delivery tools write. It also removes directives to
// delivery tools, with a note for each.
func clean(object map[string]any, allowed policyfile.AllowedMetadata) (notes []string) {
	dropNulls(object)
	delete(object, "status")
	metadata := mapping(object, "metadata")
	for _, field := range serverFields {
		delete(metadata, field)
	}
	for _, field := range []string{"labels", "annotations"} {
		of := mapping(metadata, field)
		for _, key := range slices.Sorted(maps.Keys(of)) {
			tool, effect := shape.Directive(field, key, of[key])
			if effect != "" {
				notes = append(notes, fmt.Sprintf("%s: %q is removed: it tells %s to %s", key,
					exception.Shortened(fmt.Sprint(of[key])), tool, effect))
			}
			if effect != "" || shape.MetadataWriter(field, key, of[key], allowed) != "" {
				delete(of, key)
			}
		}
		if _, there := metadata[field]; there && len(of) == 0 {
			delete(metadata, field)
		}
	}
	return notes
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
