package config

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
)

var update = flag.Bool("update", false, "write docs/polex.schema.json and docs/reference/configuration.md anew")

// TestGenerated compares the generated files with the types.
func TestGenerated(t *testing.T) {
	text := expect.Value(json.MarshalIndent(schema(t), "", "  "))(t)
	for name, want := range map[string]string{"polex.schema.json": string(text) + "\n", "reference/configuration.md": page(t)} {
		path := filepath.Join("..", "..", "docs", name)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil { //nolint:gosec // it goes to Git
				t.Fatal(err)
			}
		}
		got := expect.Value(os.ReadFile(path))(t)
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("docs/%s is out of date; make generate (-want +got):\n%s", name, diff)
		}
	}
}

// TestEveryKeyIsExplained: each key has a description, and each tag is known.
func TestEveryKeyIsExplained(t *testing.T) {
	var explained func(above string, in reflect.Type)
	explained = func(above string, in reflect.Type) {
		for in.Kind() == reflect.Slice || in.Kind() == reflect.Pointer {
			in = in.Elem()
		}
		if in.Kind() != reflect.Struct {
			return
		}
		for _, field := range fields(in) {
			key := above + "." + field.Tag.Get("json")
			if field.Tag.Get("doc") == "" && key != ".apiVersion" && key != ".kind" {
				t.Errorf("%s is not explained", key)
			}
			if format := field.Tag.Get("format"); format != "" && format != "duration" && format != "address" && format != "key" {
				t.Errorf("%s: there is no format %q", key, format)
			}
			explained(key, field.Type)
		}
	}
	for key := range trustDefaults {
		if !strings.Contains(page(t), "\n| `"+key+"` | ") {
			t.Errorf("there is no key %s", key)
		}
	}
	field, _ := Field(owned["shape"], "require")
	expect.Equal(t, "shape.require (-code +tag)", exception.StatementNames(), strings.Fields(field.Tag.Get("enum")))
	if keys := strings.Count(page(t), "\n| `"); keys > 85 {
		t.Errorf("there are %d keys; a setting exists only if two honest teams need different values", keys)
	}
	explained("", reflect.TypeFor[file]())
	for name, section := range owned {
		explained("."+name, section)
	}
}
