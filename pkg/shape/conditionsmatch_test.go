package shape_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
)

// widthCases are match conditions with their findings. internal/kyverno tests the recognised forms.
var widthCases = []struct{ conditions, reason, path string }{
	{"object.metadata.name == 'web'", "", ""},
	{"object.kind == 'Pod'; object.metadata.labels.app == 'web'", "", ""},
	{"object.metadata.name in ['" + strings.ReplaceAll(manyNames(840), ", ", "', '") + "']", "", ""},
	{"object.kind == 'Pod'", "matches-everything", "spec.matchConditions[0].expression"},
	{"object.metadata.name != 'web'", "matches-everything", "spec.matchConditions[0].expression"},
	{"object.kind == 'Pod'; request.operation == 'CREATE'", "matches-everything", "spec.matchConditions"},
	{"object.metadata.name == 'web'; 1 < 2", "matches-everything", "spec.matchConditions[1].expression"},
	{"object.kind == 'Pod' && has(object.spec.hostNetwork) && object.spec.hostNetwork", "not-proven-narrow", "spec.matchConditions[0].expression"},
	{"object.kind == 'Pod'; object.metadata.name.find('^web') != ''", "not-proven-narrow", "spec.matchConditions"},
}

// exceptReaches removes the findings [shape.ReasonReachesGuard], which most conditions in other
// forms have. internal/kyverno tests them.
func exceptReaches(found []shape.Finding) []shape.Finding {
	return slices.DeleteFunc(found, func(f shape.Finding) bool { return f.Reason == shape.ReasonReachesGuard })
}

func TestWidths(t *testing.T) {
	for _, tc := range widthCases {
		conditions := strings.Split(tc.conditions, "; ")
		for i := range conditions {
			conditions[i] = quote(conditions[i])
		}
		text := strings.Join(conditions, "\n  - name: b\n    expression: ")
		for preset, severity := range map[string]shape.Severity{"baseline": shape.Warning, "strict": shape.Error} {
			config := shape.Config{Preset: preset, Require: []string{}}
			found := exceptReaches(change{of: policies, config: config, old: goodCondition, new: text}.findings(t))
			if tc.reason == "matches-everything" {
				severity = shape.Error
			}
			if tc.reason == "" && len(found) > 0 || tc.reason != "" && (len(found) != 1 || found[0].Reason != tc.reason || found[0].Path.String() != tc.path || found[0].Severity != severity) {
				t.Errorf("%s, %s: %+v", preset, tc.conditions, found)
			}
		}
	}
}

func manyNames(n int) string {
	var names []string
	for i := range n {
		names = append(names, "rule-"+strconv.Itoa(i))
	}
	return strings.Join(names, ", ")
}
