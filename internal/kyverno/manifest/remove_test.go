package manifest_test

import (
	"testing"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestRemove: the other lines stay byte for byte, and a mapping without entries goes. Only braces lose their layout.
func TestRemove(t *testing.T) {
	label, annotation := exception.Path{"metadata", "labels", "x"}, exception.Path{"metadata", "annotations", "x"}
	const head = "kind: PolicyException\nmetadata:\n"
	for name, tc := range map[string]struct {
		before string
		paths  []exception.Path
		after  string
	}{
		"one of two":         {"  annotations:\n    x: a # b\n    # why\n    key: c\n", []exception.Path{annotation}, "  annotations:\n    # why\n    key: c\n"},
		"the last":           {"  annotations:\n    key: c\n    x: a\n  name: z\n", []exception.Path{annotation}, "  annotations:\n    key: c\n  name: z\n"},
		"all":                {"  annotations:\n    x: a\n  labels:\n    x: b\n  name: z\n", []exception.Path{annotation, label}, "  name: z\n"},
		"text of more lines": {"  annotations:\n    x: |\n      a\n\n      # b\n    key: c\n", []exception.Path{annotation}, "  annotations:\n    key: c\n"},
		"folded in quotes":   {"  annotations:\n    x: \"a\n      b\"\n    key: c\n", []exception.Path{annotation}, "  annotations:\n    key: c\n"},
		"a list":             {"  finalizers:\n  - a\n  - b\n  name: z\n", []exception.Path{{"metadata", "finalizers"}}, "  name: z\n"},
		"a list of mappings": {"  finalizers:\n    - a: b\n      c: d\n  name: z\n", []exception.Path{{"metadata", "finalizers"}}, "  name: z\n"},
		"windows":            {"  annotations:\r\n    x: a\r\n    key: c\r\n", []exception.Path{annotation}, "  annotations:\r\n    key: c\r\n"},
		"all in braces":      {"  annotations: {x: a}\n  name: z\n", []exception.Path{annotation}, "  name: z\n"},
		"one in braces":      {"  annotations: {x: a, key: c} # lost\n", []exception.Path{annotation}, "  annotations:\n    key: c\n"},
		"not there":          {"  annotations:\n    key: c\n", []exception.Path{label}, "  annotations:\n    key: c\n"},
	} {
		doc := must.Get(exception.Parse([]byte(head+tc.before+"spec:\n  background: true\n"), "a.yaml"))(t)
		got := must.Get(manifest.Remove(doc, tc.paths))(t)
		expect.Equal(t, name, head+tc.after+"spec:\n  background: true\n", string(got.Source()))
	}
}
