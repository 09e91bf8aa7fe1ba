//go:build e2e

package e2e

import "maps"

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
