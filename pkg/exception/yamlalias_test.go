package exception_test

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
)

// TestAliases: a reader that accepts anchors and merge keys reads the same values as kubectl, and
// rejects documents for which they differ. Any other reader rejects anchors and merge keys.
func TestAliases(t *testing.T) {
	for text, want := range map[string]any{
		"a: &a {x: 1}\nb: *a\n":                                 map[string]any{"a": map[string]any{"x": int64(1)}, "b": map[string]any{"x": int64(1)}},
		"a: &a {x: 1}\nb:\n  <<: *a\n  x: 2\n":                  map[string]any{"a": map[string]any{"x": int64(1)}, "b": map[string]any{"x": int64(2)}},
		"a: &a {x: 1}\nc: &c {x: 2, z: 3}\nb: {<<: [*a, *c]}\n": map[string]any{"a": map[string]any{"x": int64(1)}, "c": map[string]any{"x": int64(2), "z": int64(3)}, "b": map[string]any{"x": int64(1), "z": int64(3)}},
		"a: [&a Pod, *a]\n":                                     map[string]any{"a": []any{"Pod", "Pod"}},
		"a: &a {x: 1}\nb:\n  x: 2\n  <<: *a\n":                  nil, // x is 1 in kubectl
		"a: &a {x: 1}\nb: {<<: *a, x: 2, x: 3}\n":               nil,
		"a: &a [*a]\n":                                          nil,
		"a: &a {b: {<<: *a}}\n":                                 nil,
		"a: &a Pod\nb: {<<: *a}\n":                              nil,
		"a: &a {x: 1}\nb: {<<: *missing}\n":                     nil,
		"a: &a key\n*a : b\n":                                   nil,
		"a: &a " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\nb: " + strings.Repeat("[", 40) + "*a" + strings.Repeat("]", 40) + "\n": nil,
	} {
		doc, err := exception.NewReader(strings.NewReader(text), "a.yaml").Aliases().Next()
		if (err == nil) != (want != nil) || err == nil && !reflect.DeepEqual(any(doc.Object()), want) {
			t.Errorf("%.80s: %v %v", text, doc, err)
		}
		expect.Failure(exception.Parse([]byte(text), "a.yaml"))(t) // no alias is allowed there
	}
}

// TestAliasesAreBounded: a few lines with a billion values are rejected before aliases are written
// out.
func TestAliasesAreBounded(t *testing.T) {
	var laughs, wide, merged strings.Builder
	laughs.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	merged.WriteString("a0: &a0 {x: [x, x, x, x, x, x, x, x, x, x]}\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&laughs, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), i-1)
		fmt.Fprintf(&merged, "a%d: &a%d\n", i, i)
		for j := range 10 {
			fmt.Fprintf(&merged, "  k%d: {<<: *a%d}\n", j, i-1)
		}
	}
	wide.WriteString("a: &a [" + strings.Repeat("x, ", 100_000) + "x]\nb: [" + strings.Repeat("*a, ", 20_000) + "*a]\n")
	long := strings.Repeat("x", 500_000)
	for name, text := range map[string]string{
		"laughs": laughs.String(), "merged": merged.String(), "wide": wide.String(),
		"a long text": "a: &a " + long + "\nb: [" + strings.Repeat("*a, ", 5_000) + "*a]\n",
		"a long key":  "a: &a\n  ? " + long + "\n  : 1\nb: [" + strings.Repeat("*a, ", 5_000) + "*a]\n",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := exception.NewReader(strings.NewReader(text), "a.yaml").Large().Aliases().Next()
		runtime.ReadMemStats(&after)
		expect.Error(t, err, "when its aliases are written out")
		if spent := (after.TotalAlloc - before.TotalAlloc) >> 20; spent > 200 {
			t.Errorf("%s: %d MiB were allocated", name, spent)
		}
	}
}
