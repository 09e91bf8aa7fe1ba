package cli_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/polex-dev/polex/test/must"
)

// reported checks that the last command wrote a report that matches the schema in docs/.
func reported(t *testing.T) func(*testscript.TestScript, bool, []string) {
	t.Helper()
	raw := must.Get(os.ReadFile("../../docs/report.schema.json"))(t)
	schema := must.Get(jsonschema.UnmarshalJSON(strings.NewReader(string(raw))))(t)
	compiler := jsonschema.NewCompiler()
	must.Do(t, compiler.AddResource("report.json", schema))
	compiled := must.Get(compiler.Compile("report.json"))(t)
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: reported stdout|stderr|file")
		}
		report, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile(args[0])))
		ts.Check(err)
		ts.Check(compiled.Validate(report))
	}
}
