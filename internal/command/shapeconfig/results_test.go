package shapeconfig

import (
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestReasons: SARIF shows the configured level of a reason, or else its default.
func TestReasons(t *testing.T) {
	config := shape.Config{Preset: "strict"}
	must.Do(t, config.Complete())
	levels := map[string]string{}
	for _, r := range Reasons(config) {
		levels[r.Name] = r.Severity.String()
	}
	for name, want := range map[string]string{
		shape.ReasonReachesGuard: "error", shape.ReasonOverlaps: "warning", shape.ReasonNotProvenNarrow: "error", shape.ReasonClaimsReview: "warning", shape.ReasonExpired: "error",
	} {
		expect.Is(t, name, want, levels[name])
	}
	expect.That(t, len(levels) == len(shape.Reasons())+1, "%v", levels)
}
