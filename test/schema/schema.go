// Package schema validates what a test has with a JSON Schema.
package schema

import (
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/polex-dev/polex/test/must"
)

// Compile returns the schema in a file.
func Compile(t testing.TB, path string) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	must.Do(t, compiler.AddResource("schema.json", Value(t, string(must.Get(os.ReadFile(path))(t)))))
	return must.Get(compiler.Compile("schema.json"))(t)
}

// Value returns JSON as the validation takes it.
func Value(t testing.TB, text string) any {
	t.Helper()
	return must.Get(jsonschema.UnmarshalJSON(strings.NewReader(text)))(t)
}
