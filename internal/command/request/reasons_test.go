package request

import (
	"slices"
	"testing"

	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// TestReasons: every reason of the command has its own line, from which docs/reference/reasons.md is generated.
func TestReasons(t *testing.T) {
	own := []string{reasonDrafted, reasonThere, reasonLive, reasonInTheWay, reasonNoViolations, reasonNote}
	for _, reason := range request.Reasons() {
		own = append(own, reason.Name)
	}
	for _, reason := range own {
		if !slices.ContainsFunc(reasons(shape.Config{}), func(r exception.Reason) bool { return r.Name == reason && r.Doc != "" }) {
			t.Errorf("%s has no line of its own", reason)
		}
	}
}
