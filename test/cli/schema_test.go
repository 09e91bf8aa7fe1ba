package cli_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// reported checks that the last command wrote a report that matches the schema in docs/.
func reported(t *testing.T) func(*testscript.TestScript, bool, []string) {
	t.Helper()
	raw, err := os.ReadFile("../../docs/report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("report.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("report.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: reported stdout|stderr|file")
		}
		report, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile(args[0])))
		ts.Check(err)
		ts.Check(compiled.Validate(report))
	}
}
