package kyverno

import (
	"github.com/polex-dev/polex/pkg/exception"
)

// Unread is a value of another type than its field.
type Unread struct {
	Path            exception.Path
	Expected, Found string // such as "a list", "a number"
}

// maxUnread limits the list for one document; only its presence affects decisions.
const maxUnread = 200

// reader reads untyped values. A value of another type than its field is read as empty and listed.
type reader struct{ unread []Unread }

// node is a value with its location. The path is built on demand, because most fields are absent.
type node struct {
	value any
	in    exception.Path
	key   any
}

func (n node) path() exception.Path { return n.in.With(n.key) }

// object is a mapping with its path.
type object struct {
	tree map[string]any
	path exception.Path
}

func (f object) at(key string) node { return node{f.tree[key], f.path, key} }

func (r *reader) misread(f node, expected string) {
	if len(r.unread) == maxUnread {
		return
	}
	found := "a number"
	switch f.value.(type) {
	case nil:
		found = "nothing"
	case map[string]any:
		found = "keys with values"
	case []any:
		found = "a list"
	case string:
		found = "a text"
	case bool:
		found = "true or false"
	}
	r.unread = append(r.unread, Unread{f.path(), expected, found})
}

func (r *reader) mapping(f node) object {
	tree, ok := f.value.(map[string]any)
	if !ok && f.value != nil {
		r.misread(f, "keys with values")
	}
	return object{tree, f.path()}
}

// each reads the mappings of a list. It returns nil if there is no list.
func each[T any](r *reader, list node, read func(object) T) []T {
	items, ok := list.value.([]any)
	if !ok {
		if list.value != nil {
			r.misread(list, "a list")
		}
		return nil
	}
	all, path := make([]T, len(items)), list.path()
	for i, item := range items {
		all[i] = read(r.mapping(node{item, path, i}))
	}
	return all
}

func (r *reader) text(f node) Located {
	text, ok := f.value.(string)
	if !ok && f.value != nil {
		r.misread(f, "a text")
	}
	return Located{text, f.path()}
}

func (r *reader) texts(f node) []Located {
	items, ok := f.value.([]any)
	if !ok && f.value != nil {
		r.misread(f, "a list")
	}
	if len(items) == 0 { // so that no path is built
		return []Located{}
	}
	all, path := make([]Located, 0, len(items)), f.path()
	for i, item := range items {
		if text, ok := item.(string); ok {
			all = append(all, Located{text, path.With(i)})
		} else {
			r.misread(node{item, path, i}, "a text")
		}
	}
	return all
}

// textsOf reads a mapping of texts. It returns nil if there is no mapping.
func (r *reader) textsOf(f node) map[string]string {
	if f.value == nil {
		return nil
	}
	tree := r.mapping(f)
	if tree.tree == nil {
		return nil
	}
	all := make(map[string]string, len(tree.tree))
	for key, value := range tree.tree {
		if text, ok := value.(string); ok {
			all[key] = text
		} else {
			r.misread(tree.at(key), "a text")
		}
	}
	return all
}
