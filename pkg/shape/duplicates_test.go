package shape_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
)

func TestSet(t *testing.T) {
	var set shape.Set
	for _, tc := range []struct {
		name, old, new string
		duplicate      bool
	}{
		{"the first", "", "", false},
		{"another name", "name: web-probes", "name: other", false},
		{"another namespace", "  namespace: team-a", "  namespace: team-b", false},
		{"another group", "kyverno.io/v2", "policies.kyverno.io/v1", false},
		{"another version", "kyverno.io/v2", "kyverno.io/v2beta1", true},
		{"another policy", "policyName: require-probes", "policyName: other", true},
	} {
		found := slices.DeleteFunc(set.Add(change{of: legacy, old: tc.old, new: tc.new}.document(t)), func(f shape.Finding) bool { return f.Reason == shape.ReasonOverlaps })
		expect.That(t, len(found) > 0 == tc.duplicate, "%s: %v", tc.name, found)
		for _, f := range found {
			if f.Reason != shape.ReasonDuplicateIdentity || f.Severity != shape.Error || f.Position.Line != 4 || !strings.Contains(f.Message, "file.yaml:1:1") {
				t.Errorf("%s: %+v", tc.name, f)
			}
		}
	}
}
