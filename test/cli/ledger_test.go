package cli_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// told checks that the last command wrote an audit report that matches the schema in docs/.
func told(t *testing.T) func(*testscript.TestScript, bool, []string) {
	t.Helper()
	raw, err := os.ReadFile("../../docs/ledger.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("ledger.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("ledger.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: told stdout|stderr|file")
		}
		ledger, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile(args[0])))
		ts.Check(err)
		ts.Check(compiled.Validate(ledger))
	}
}
