//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/must"
)

// grownSamples changes the two exceptions in one place each: it removes or replaces every value of
// every type, and adds an unknown field to every mapping.
func grownSamples(t *testing.T) []sample {
	t.Helper()
	var all []sample
	for _, s := range served {
		text := fmt.Sprintf(s.whole, s.version)
		all = append(all, sample{"grown/" + s.version + " as it is", []byte(text)})
		var tree map[string]any
		must.Do(t, yaml.Unmarshal([]byte(text), &tree))
		for _, path := range paths(tree, nil) {
			for what, change := range changes {
				var changed map[string]any
				must.Do(t, yaml.Unmarshal([]byte(text), &changed))
				if !at(changed, path, change) {
					continue
				}
				document := must.Get(json.Marshal(changed))(t)
				all = append(all, sample{fmt.Sprintf("grown/%s %s: %s", s.version, path, what), document})
			}
		}
	}
	slices.SortFunc(all, func(a, b sample) int { return strings.Compare(a.name, b.name) })
	return all
}

// paths returns the paths of all values below one, parents first.
func paths(value any, path exception.Path) []exception.Path {
	var all []exception.Path
	add := func(key, below any) {
		all = append(all, path.With(key))
		all = append(all, paths(below, path.With(key))...)
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			add(key, v[key])
		}
	case []any:
		for i, item := range v {
			add(i, item)
		}
	}
	return all
}

// at changes the value at a path, and reports whether it differs.
func at(tree any, path exception.Path, change func(any) (any, bool)) bool {
	for _, step := range path[:len(path)-1] {
		switch step := step.(type) {
		case string:
			tree = tree.(map[string]any)[step]
		case int:
			tree = tree.([]any)[step]
		}
	}
	switch last := path[len(path)-1].(type) {
	case string:
		fields := tree.(map[string]any)
		replacement, changed := change(fields[last])
		if !changed {
			return false
		}
		if _, remove := replacement.(gone); remove {
			delete(fields, last)
		} else {
			fields[last] = replacement
		}
		return true
	case int:
		items := tree.([]any)
		replacement, changed := change(items[last])
		if _, remove := replacement.(gone); remove || !changed {
			return false // another case empties the list itself
		}
		items[last] = replacement
		return true
	}
	return false
}

// gone in place of a value removes its key.
type gone struct{}

// changes returns the replacement of a value, or false if it is equal.
var changes = map[string]func(any) (any, bool){
	"removed":         func(any) (any, bool) { return gone{}, true },
	"null":            func(any) (any, bool) { return nil, true },
	"empty text":      func(old any) (any, bool) { return "", old != "" },
	"text":            func(old any) (any, bool) { return "x", old != "x" },
	"number":          func(any) (any, bool) { return 1, true },
	"true":            func(old any) (any, bool) { return true, old != true },
	"empty list":      func(any) (any, bool) { return []any{}, true },
	"list of texts":   func(any) (any, bool) { return []any{"x"}, true },
	"list with null":  func(any) (any, bool) { return []any{nil}, true },
	"empty mapping":   func(any) (any, bool) { return map[string]any{}, true },
	"mapping":         func(any) (any, bool) { return map[string]any{"x": "y"}, true },
	"mapping to null": func(any) (any, bool) { return map[string]any{"x": nil}, true },
	"one field more": func(old any) (any, bool) {
		fields, isMapping := old.(map[string]any)
		if !isMapping {
			return nil, false
		}
		more := maps.Clone(fields)
		more["surplus"] = "x"
		return more, true
	},
	"the first twice": func(old any) (any, bool) {
		items, isList := old.([]any)
		if !isList || len(items) == 0 {
			return nil, false
		}
		return append([]any{items[0]}, items...), true
	},
}
