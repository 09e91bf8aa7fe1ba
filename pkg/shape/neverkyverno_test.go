package shape_test

import (
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestNeverMatchesKyvernos: with the policies beside them, Kyverno's own exceptions may all match, and
// no condition is an error for other objects.
func TestNeverMatchesKyvernos(t *testing.T) {
	exceptions := 0
	for folder, docs := range kyvernoFolders(t) {
		checker := must.Get(shape.New(shape.Config{Policies: shape.ReadPolicies(docs)}))(t)
		for _, d := range docs {
			if !d.GroupKind().IsException() {
				continue
			}
			exceptions++
			for _, f := range checker.Check(d, now) {
				expect.That(t, f.Reason != shape.ReasonNeverMatches && f.Reason != "may-fail",
					"%s: %s: %s", folder, f.Path, f.Message)
			}
		}
	}
	expect.AtLeast(t, "exceptions", 100, exceptions)
}
