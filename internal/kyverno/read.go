package kyverno

import (
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// What is absent or null is empty, as it is to the API server. What is of another
// type than its field reaches the guard: nobody knows how it will be read.

const hintType = "write it as the API's schema has it"

func (a *asking) mapping(value any, path exception.Path) map[string]any {
	tree, ok := value.(map[string]any)
	if !ok && value != nil {
		a.says(path, hintType, "this is not a mapping, and what it covers cannot be read")
	}
	return tree
}

func (a *asking) list(value any, path exception.Path) []any {
	items, ok := value.([]any)
	if !ok && value != nil {
		a.says(path, hintType, "this is not a list, and what it covers cannot be read")
	}
	return items
}

// located is a text with its place in the document.
type located struct {
	text string
	path exception.Path
}

func (a *asking) text(value any, path exception.Path) (one []located) {
	text, ok := value.(string)
	switch {
	case ok && text != "":
		return []located{{text, path}}
	case !ok && value != nil:
		a.says(path, hintType, "this is not a text, and what it covers cannot be read")
	}
	return nil
}

func (a *asking) texts(value any, path exception.Path) (all []located) {
	for i, item := range a.list(value, path) {
		if text, ok := item.(string); ok {
			all = append(all, located{text, path.With(i)})
		} else {
			a.says(path.With(i), hintType, "this is not a text, and what it covers cannot be read")
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
