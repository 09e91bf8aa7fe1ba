package shape_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
)

// TestLoopsInLoops: nested loops do not repeat the search for unknown or absent variables.
func TestLoopsInLoops(t *testing.T) {
	const deep = 24
	expression := strings.Repeat("[1].exists(a, ", deep) + "request.object.metadata.name == 'web'" + strings.Repeat(")", deep)
	if found := exceptReaches((change{of: policies, config: withoutWidth, old: goodCondition, new: quote(expression)}).findings(t)); len(found) > 0 {
		t.Errorf("%+v", found)
	}
	config := shape.Config{Resources: shape.ReadResources(documents("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: a}\n"))}
	checker, err := shape.New(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"ValidatingPolicy", "DeletingPolicy"} {
		d := change{of: strings.ReplaceAll(policies, "ValidatingPolicy", kind), old: goodCondition, new: quote(expression)}.document(t)
		if found := checker.Exempted(d); found.Count != 1 || found.Cut {
			t.Errorf("%s: %+v", kind, found)
		}
	}
}
