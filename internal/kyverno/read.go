package kyverno

import (
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// What is absent or null is empty, as it is to the API server. What is of another
// type than its field reaches the guard: nobody knows how it will be read.

func (a *asking) misread(path exception.Path, expected string, value any) {
	found := "a number"
	switch value.(type) {
	case nil:
		found = "nothing"
	case map[string]any:
		found = "a mapping"
	case []any:
		found = "a list"
	case string:
		found = "a text"
	case bool:
		found = "true or false"
	}
	a.says(path, "write it as the schema of the API has it", "expected %s, found %s: the exception cannot be read as a whole", expected, found)
}

func (a *asking) mapping(value any, path exception.Path) map[string]any {
	tree, ok := value.(map[string]any)
	if !ok && value != nil {
		a.misread(path, "a mapping", value)
	}
	return tree
}

func (a *asking) list(value any, path exception.Path) []any {
	items, ok := value.([]any)
	if !ok && value != nil {
		a.misread(path, "a list", value)
	}
	return items
}

// located is a text with its place in the document.
type located struct {
	text string
	path exception.Path
}

func (l located) isPattern() bool { return wildcard.In(l.text) }

func (a *asking) text(value any, path exception.Path) (one []located) {
	text, ok := value.(string)
	switch {
	case ok && text != "":
		return []located{{text, path}}
	case !ok && value != nil:
		a.misread(path, "a text", value)
	}
	return nil
}

func (a *asking) texts(value any, path exception.Path) (all []located) {
	for i, item := range a.list(value, path) {
		if text, ok := item.(string); ok {
			all = append(all, located{text, path.With(i)})
		} else {
			a.misread(path.With(i), "a text", item)
		}
	}
	return all
}

// cutPolicy takes the name of a policy apart.
func cutPolicy(name string) (namespace, bare string, namespaced bool) {
	if namespace, bare, namespaced = strings.Cut(name, "/"); namespaced {
		return namespace, bare, true
	}
	return "", name, false
}
