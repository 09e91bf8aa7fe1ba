package trust_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/expect"
)

// TestDocs loads each example of docs/reference/trust.md, checks it with the schema, and searches
// the page for every field.
func TestDocs(t *testing.T) {
	raw := expect.Value(os.ReadFile("../../docs/reference/trust.md"))(t)
	page := string(raw)
	s, dir := schema(t), beside(t)
	key := expect.Value(os.ReadFile(filepath.Join(dir, "ci.pub")))(t)
	expect.OK(t, os.Mkdir(filepath.Join(dir, "keys"), 0o700))
	expect.OK(t, os.WriteFile(filepath.Join(dir, "keys", "release.pub"), key, 0o600))
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1)
	for i, example := range examples {
		t.Run(fmt.Sprint("example ", i+1), func(t *testing.T) {
			_, doc, err := load(example[1], dir)
			expect.OK(t, err)
			expect.OK(t, validate(t, s, doc))
		})
	}
	if len(examples) < 9 {
		t.Errorf("%d examples", len(examples))
	}
	all := fields(t)
	for _, field := range all {
		if !strings.Contains(page, "`"+field) {
			t.Errorf("%q is not explained", field)
		}
		if slices.Contains(all, field+"File") {
			continue // its file is documented
		}
		if !strings.Contains(page, field+": ") && !strings.Contains(page, field+":\n") {
			t.Errorf("%q is not shown", field)
		}
	}
}

// fields returns the keys in the schema, except claims.
func fields(t *testing.T) []string {
	t.Helper()
	raw := expect.Value(os.ReadFile(schemaFile))(t)
	type object struct{ Properties map[string]any }
	var tree struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	expect.OK(t, json.Unmarshal(raw, &tree))
	found := map[string]bool{}
	for _, o := range append(slices.Collect(maps.Values(tree.Defs)), tree.object) {
		for key := range o.Properties {
			found[key] = true
		}
	}
	delete(found, "apiVersion")
	return slices.Sorted(maps.Keys(found))
}
