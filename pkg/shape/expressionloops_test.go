package shape_test

import (
	"strings"
	"testing"
)

// TestLoopsInLoops: nested loops are valid conditions.
func TestLoopsInLoops(t *testing.T) {
	const deep = 24
	expression := strings.Repeat("[1].exists(a, ", deep) + "request.object.metadata.name == 'web'" + strings.Repeat(")", deep)
	if found := exceptReaches((change{of: policies, config: withoutWidth, old: goodCondition, new: quote(expression)}).findings(t)); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}
