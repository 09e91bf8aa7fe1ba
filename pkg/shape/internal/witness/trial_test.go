package witness_test

import (
	"testing"

	"github.com/polex-dev/polex/pkg/shape/internal/witness"
)

// TestAnswers: an answer that is kept is the one that evaluating again would give.
func TestAnswers(t *testing.T) {
	for _, expression := range []string{
		"object == null || object.metadata.name < 'n'", "oldObject == null", "object == oldObject", "object.metadata == oldObject.metadata", "request.object == null",
		"size(object) > 3 && object.metadata.name < 'n'", "object.metadata.exists(k, k == 'labels')", "object.metadata.namespace < 'm' || request.namespace > 'n'",
		"object.kind < 'M'", "request.kind.group == ''", "request.resource.resource.endsWith('s')", "namespaceObject == null || namespaceObject.metadata.name < 'n'",
		"request.userInfo.username < 'n'", "request.userInfo.groups.exists(g, g < 'b')", "has(object.metadata.labels) && object.metadata.labels.exists(k, k < 'b')",
		"has(object.metadata.annotations)", "request.operation == 'CREATE' || object != null && object.metadata.name < 'e'", "has(object.spec)", "object.apiVersion == 'v1'",
		"request.name < 'n' || request.dryRun", "request == request && request.userInfo.username < 'k'", "[object, oldObject].exists(it, it != null && it.metadata.name < 'h')",
		"object.metadata.name == 'web'", "object.metadata.namespace != 'prod'", "size(object.metadata.name) < 15", "object.metadata.?labels['x'].orValue('y') == 'y'",
		"object.kind in ['Deployment', 'Widget']", "object.spec.containers.all(c, c.image != 'evil')", "!(request.name in ['a', 'b'])", "!isIP(object.metadata.name)",
	} {
		saved, err := witness.CheckAnswers(expression)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
		}
		if saved == 0 {
			t.Errorf("%s: no answer is kept", expression)
		}
	}
}
