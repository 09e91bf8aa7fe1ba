package draft

import (
	"github.com/polex-dev/polex/pkg/exception"
)

// Filter is one entry of a kyverno.io exception's match.any or match.all.
type Filter struct {
	Path       exception.Path
	Tree       map[string]any
	Resources  map[string]any
	Kinds      []Located
	Names      []Located // name and names
	Namespaces []Located
}

// Located is a text with its place in the document.
type Located struct {
	Text string
	Path exception.Path
}

// Filters returns the filters of match.any or match.all.
func (d *Draft) Filters(quantifier string) []Filter {
	path := exception.Path{"spec", "match", quantifier}
	spec, _ := d.Tree["spec"].(map[string]any)
	match, _ := spec["match"].(map[string]any)
	items, _ := match[quantifier].([]any)
	found := make([]Filter, 0, len(items))
	for i, item := range items {
		tree, _ := item.(map[string]any)
		resources, _ := tree["resources"].(map[string]any)
		f := Filter{Path: path.With(i), Tree: tree, Resources: resources}
		at := f.Path.With("resources")
		f.Kinds = TextsOf(resources["kinds"], at.With("kinds"))
		f.Names = TextsOf(resources["names"], at.With("names"))
		if name, _ := resources["name"].(string); name != "" {
			f.Names = append(f.Names, Located{name, at.With("name")})
		}
		f.Namespaces = TextsOf(resources["namespaces"], at.With("namespaces"))
		found = append(found, f)
	}
	return found
}

// AllFilters returns those of both.
func (d *Draft) AllFilters() []Filter { return append(d.Filters("any"), d.Filters("all")...) }

// TextsOf returns the texts of a list at a path.
func TextsOf(value any, path exception.Path) []Located {
	items, _ := value.([]any)
	var found []Located
	for i, item := range items {
		if text, ok := item.(string); ok {
			found = append(found, Located{text, path.With(i)})
		}
	}
	return found
}
