package adopt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/schema"
	"github.com/polex-dev/polex/pkg/shape"
)

// clean removes what no person wrote: the status, and fields, labels and annotations of servers and delivery
// tools. It also removes directives to these tools, versions that Kyverno no longer serves, and the namespace
// kyverno, with a note for each.
func (c *candidate) clean(config *shape.Config) {
	delete(c.object, "status")
	metadata := mapping(c.object, "metadata")
	for _, field := range schema.ServerFields {
		delete(metadata, field)
	}
	c.Notes = append(c.Notes, shape.DropMetadata(c.object, config.Allowed)...)
	c.update()
	if len(config.AllowInKyverno) == 0 {
		c.leaveKyverno()
	}
}

// update replaces an apiVersion that Kyverno no longer serves with the newest one, as the checks ask for. The
// fields of the versions are the same.
func (c *candidate) update() {
	before := fmt.Sprint(c.object["apiVersion"])
	v, known := kyverno.VersionOf(c.id.GroupKind, strings.TrimPrefix(before, c.id.Group+"/"))
	if known && v.To != 0 {
		c.object["apiVersion"] = kyverno.MatchDeprecated.Newest(c.id.GroupKind)
		c.Notes = append(c.Notes, fmt.Sprintf("%s is now %s: Kyverno serves %s only until 1.%d", before,
			c.object["apiVersion"], v.Name, v.To))
	}
}

// leaveKyverno removes the namespace kyverno from lists that have other namespaces. No exception may exempt
// resources of that namespace.
func (c *candidate) leaveKyverno() {
	found := false
	for _, of := range []string{"any", "all"} {
		filters, _ := mapping(c.object, "spec", "match")[of].([]any)
		for _, filter := range filters {
			filter, _ := filter.(map[string]any)
			resources := mapping(filter, "resources")
			all, _ := resources["namespaces"].([]any)
			left := slices.DeleteFunc(slices.Clone(all), func(name any) bool { return name == "kyverno" })
			if len(left) > 0 && len(left) < len(all) {
				resources["namespaces"], found = left, true
			}
		}
	}
	if found {
		c.Notes = append(c.Notes, "the namespace kyverno is no longer exempt: Kyverno's chart leaves it out of its "+
			"webhooks; if yours does not, see guard.allowInKyverno")
	}
}

// mapping returns the mapping at a path of keys, or nil.
func mapping(object map[string]any, path ...string) map[string]any {
	for _, key := range path {
		object, _ = object[key].(map[string]any)
	}
	return object
}
