package shapeconfig

import (
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
)

// TestReasons: SARIF shows the configured level of a reason, or else its default.
func TestReasons(t *testing.T) {
	config := shape.Strict()
	config.Rules = []shape.Rule{{Name: "no-friday", Message: "not on a Friday", Severity: shape.Warning}}
	levels := map[string]string{}
	for _, r := range Reasons(config) {
		levels[r.Name] = r.Severity.String()
	}
	for name, want := range map[string]string{
		shape.ReasonReachesGuard: "error", shape.ReasonOverlaps: "warning", shape.ReasonNotProvenNarrow: "error", shape.ReasonClaimsReview: "warning", shape.ReasonExpired: "error", "no-friday": "warning",
	} {
		if levels[name] != want {
			t.Errorf("%s: %q", name, levels[name])
		}
	}
	if len(levels) != len(shape.Reasons())+2 {
		t.Errorf("%v", levels)
	}
}
