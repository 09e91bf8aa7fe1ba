package manifest

import (
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

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

// LongestName is the maximum length of a name in the API server. A document with a longer name is
// neither a policy nor a resource.
const LongestName = 253
