package shape

import (
	"github.com/polex-dev/polex/pkg/exception"
)

// filter is one entry of a kyverno.io exception's match.any or match.all.
type filter struct {
	path       exception.Path
	tree       map[string]any
	resources  map[string]any
	kinds      []located
	names      []located // name and names
	namespaces []located
}

// located is a text with its place in the document.
type located struct {
	text string
	path exception.Path
}

// filters returns the filters of match.any or match.all.
func (s *subject) filters(quantifier string) []filter {
	path := exception.Path{"spec", "match", quantifier}
	spec, _ := s.tree["spec"].(map[string]any)
	match, _ := spec["match"].(map[string]any)
	items, _ := match[quantifier].([]any)
	found := make([]filter, 0, len(items))
	for i, item := range items {
		tree, _ := item.(map[string]any)
		resources, _ := tree["resources"].(map[string]any)
		f := filter{path: path.With(i), tree: tree, resources: resources}
		at := f.path.With("resources")
		f.kinds = texts(resources["kinds"], at.With("kinds"))
		f.names = texts(resources["names"], at.With("names"))
		if name, _ := resources["name"].(string); name != "" {
			f.names = append(f.names, located{name, at.With("name")})
		}
		f.namespaces = texts(resources["namespaces"], at.With("namespaces"))
		found = append(found, f)
	}
	return found
}

func (s *subject) allFilters() []filter { return append(s.filters("any"), s.filters("all")...) }

func texts(value any, path exception.Path) []located {
	items, _ := value.([]any)
	var found []located
	for i, item := range items {
		if text, ok := item.(string); ok {
			found = append(found, located{text, path.With(i)})
		}
	}
	return found
}
