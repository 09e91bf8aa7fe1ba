package shape

import (
	"regexp"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/wildcard"
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

// kindSelector is one entry of kinds, cut as Kyverno cuts it.
type kindSelector struct{ group, version, kind, subresource string }

var versionForm = regexp.MustCompile(`^(v\d((alpha|beta)\d)?|\*)$`)

// parseKind reads the forms Kind, version/Kind, group/version/Kind, each with
// an optional /subresource or .subresource behind it.
func parseKind(text string) kindSelector {
	parts := strings.Split(text, "/")
	last := len(parts) - 1
	parts = append(parts[:last:last], strings.Split(parts[last], ".")...)
	switch len(parts) {
	case 1:
		return kindSelector{"*", "*", parts[0], ""}
	case 2:
		switch {
		case parts[0] == "*" && parts[1] == "*":
			return kindSelector{"*", "*", "*", "*"}
		case parts[0] == "*" && strings.ToLower(parts[1]) == parts[1]:
			return kindSelector{"*", "*", "*", parts[1]}
		case versionForm.MatchString(parts[0]):
			return kindSelector{"*", parts[0], parts[1], ""}
		default:
			return kindSelector{"*", "*", parts[0], parts[1]}
		}
	case 3:
		if versionForm.MatchString(parts[0]) {
			return kindSelector{"*", parts[0], parts[1], parts[2]}
		}
		return kindSelector{parts[0], parts[1], parts[2], ""}
	case 4:
		return kindSelector{parts[0], parts[1], parts[2], parts[3]}
	default:
		return kindSelector{} // Kyverno matches nothing with it
	}
}

// covers reports whether a selector can mean a kind of one of the groups.
func (k kindSelector) covers(kind string, groups ...string) bool {
	_, inGroup := wildcard.OverlapsAny(k.group, groups)
	return inGroup && wildcard.Overlap(k.kind, kind)
}
