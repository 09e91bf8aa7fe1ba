// Package charts holds the Helm chart of polex-guard. Its test writes the generated files.
package charts_test

//go:generate go test -run ^TestGenerated$ . -update

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var update = flag.Bool("update", false, "write the generated files of the chart anew")

const chart = "polex-guard"

type object = map[string]any

// TestGenerated compares the generated files with their sources. The chart's files/ are copies of
// policies/, because an archive of a chart cannot hold links. In the schema, the configuration of
// the guard is that of docs/polex.schema.json.
func TestGenerated(t *testing.T) {
	schema := withConfig(t, readJSON(t, filepath.Join(chart, "values.schema.json")))
	want := copies(t)
	want[filepath.Join(chart, "values.schema.json")] = marshal(t, schema)
	want[filepath.Join(chart, "README.md")] = readme(t, schema)
	if *update {
		must.Do(t, os.RemoveAll(filepath.Join(chart, "files")))
		for path, text := range want {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil { //nolint:gosec // they go to Git
				t.Fatal(err)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		expect.Equal(t, path+" is out of date; make generate", want[path], read(t, path))
	}
	for _, path := range below(t, filepath.Join(chart, "files"), "") {
		_, known := want[path]
		expect.That(t, known, "%s is a copy of nothing; make generate", path)
	}
}

// copies returns the files of policies/ that the chart holds.
func copies(t *testing.T) map[string]string {
	t.Helper()
	policies := filepath.Join("..", "policies")
	from := below(t, filepath.Join(policies, "guard"), ".yaml")
	for _, name := range []string{"alerts/prometheusrule.yaml", "alerts/servicemonitor.yaml", "dashboard/polex.json"} {
		from = append(from, filepath.Join(policies, filepath.FromSlash(name)))
	}
	files := map[string]string{}
	for _, path := range from {
		to := must.Get(filepath.Rel(policies, path))(t)
		files[filepath.Join(chart, "files", to)] = read(t, path)
	}
	return files
}

// below returns the files in a folder whose names have a suffix.
func below(t *testing.T, dir, suffix string) (found []string) {
	t.Helper()
	must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, suffix) {
			found = append(found, path)
		}
		return err
	}))
	return found
}

// withConfig puts the sections trust and guard of the configuration, and the definitions that they
// use, into the schema of the values.
func withConfig(t *testing.T, schema object) object {
	t.Helper()
	config := readJSON(t, filepath.Join("..", "docs", "polex.schema.json"))
	sections := config["properties"].(object)
	trust := sections["trust"].(object)
	// The guard does not start without a trusted signer, so Helm does not install it.
	trust["required"] = []any{"authorities"}
	schema["properties"].(object)["config"].(object)["properties"] = object{"trust": trust, "guard": sections["guard"]}
	defs := config["$defs"].(object)
	for name, def := range schema["$defs"].(object) {
		if strings.HasPrefix(name, "chart") {
			defs[name] = def
		}
	}
	schema["$defs"] = defs
	return schema
}

// readme returns the README of the chart, with the values in the order of values.yaml.
func readme(t *testing.T, schema object) string {
	t.Helper()
	var values yaml.Node
	must.Do(t, yaml.Unmarshal([]byte(read(t, filepath.Join(chart, "values.yaml"))), &values))
	text, _, found := strings.Cut(read(t, filepath.Join(chart, "README.md")), "\n## Values\n")
	must.That(t, found, "the README has no section for the values")
	var b strings.Builder
	b.WriteString(text + `
## Values

The schema of the chart has every value, and this section is generated from it. Helm rejects an unknown value, and one of another type, before it changes the cluster. The keys of
` + "`config.trust` and `config.guard`" + ` are those of [the configuration](https://github.com/polex-dev/polex/blob/main/docs/reference/configuration.md#trust).

| value | default | description |
| --- | --- | --- |
`)
	rows(t, &b, "", values.Content[0], schema, schema["$defs"].(object))
	return b.String()
}

func rows(t *testing.T, b *strings.Builder, above string, values *yaml.Node, schema, defs object) {
	t.Helper()
	left := maps.Clone(schema["properties"].(object))
	delete(left, "global")
	for i := 0; i < len(values.Content); i += 2 {
		name, value := values.Content[i].Value, values.Content[i+1]
		property, known := left[name].(object)
		must.That(t, known, "values.schema.json does not describe %s%s", above, name)
		delete(left, name)
		below := property
		if ref, is := property["$ref"].(string); is {
			below = defs[strings.TrimPrefix(ref, "#/$defs/")].(object)
		}
		text, _ := property["description"].(string)
		expect.That(t, text != "", "%s%s is not explained", above, name)
		nested := value.Kind == yaml.MappingNode && len(value.Content) > 0
		otherwise := ""
		if !nested {
			var v any
			must.Do(t, value.Decode(&v))
			otherwise = "`" + strings.TrimSpace(marshalled(t, v)) + "`"
		}
		fmt.Fprintf(b, "| `%s%s` | %s | %s%s |\n", above, name, otherwise, strings.ReplaceAll(property["description"].(string), "|", "\\|"), limits(below))
		if nested {
			rows(t, b, above+name+".", value, below, defs)
		}
	}
	for name := range left {
		t.Errorf("values.yaml does not show %s%s", above, name)
	}
}

// limits says which values a schema allows, beyond their type.
func limits(schema object) string {
	if known, is := schema["enum"].([]any); is {
		var names []string
		for _, name := range known {
			names = append(names, fmt.Sprintf("`%v`", name))
		}
		return ". One of " + strings.Join(names, ", ")
	}
	if least, is := schema["minimum"]; is {
		return fmt.Sprintf(". At least %v", least)
	}
	return ""
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	must.Do(t, e.Encode(v))
	return b.String()
}

func marshalled(t *testing.T, v any) string {
	t.Helper()
	text := must.Get(json.Marshal(v))(t)
	return string(text)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	expect.NoError(t, err)
	return string(text)
}

func readJSON(t *testing.T, path string) (o object) {
	t.Helper()
	must.Do(t, json.Unmarshal([]byte(read(t, path)), &o))
	return o
}
