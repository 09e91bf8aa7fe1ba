package request_test

import (
	"testing"

	"github.com/google/cel-go/cel"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// exempts returns the resources that an exception exempts: by its match as polex reads it, or by
// its match conditions as CEL evaluates them.
func exempts(t *testing.T, doc *exception.Document, resources []*exception.Document) []exception.Identity {
	t.Helper()
	e := kyverno.Read(doc)
	if !e.ByMatch {
		var all []exception.Identity
		met := conditionOf(t, e)
		for _, r := range resources {
			if met(r.Object()) {
				all = append(all, r.Identity())
			}
		}
		return all
	}
	checker, err := shape.New(shape.Config{Resources: shape.ReadResources(resources)})
	if err != nil {
		t.Fatal(err)
	}
	found := checker.Exempted(doc)
	if !found.Known || found.Cut || found.Count != len(found.Resources) {
		t.Fatalf("%+v", found)
	}
	return found.Resources
}

// conditionOf compiles the one match condition of a draft. It depends on the object only, and is
// never an error.
func conditionOf(t *testing.T, e *kyverno.Exception) func(object map[string]any) bool {
	t.Helper()
	if len(e.Conditions) != 1 {
		t.Fatalf("%d conditions", len(e.Conditions))
	}
	env, err := cel.NewEnv(cel.Variable("object", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	text := e.Conditions[0].Expression.Text
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := env.Program(checked)
	if err != nil {
		t.Fatal(err)
	}
	return func(object map[string]any) bool {
		t.Helper()
		result, _, err := program.Eval(map[string]any{"object": object})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return result.Value() == true
	}
}
