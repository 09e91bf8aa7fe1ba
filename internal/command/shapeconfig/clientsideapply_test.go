package shapeconfig_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/command/shapeconfig"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestClientSideApply: 1,300 images by digest are too many for client-side apply once they are signed, and
// 600 are not. Text that gzip makes small needs no warning at the same size.
func TestClientSideApply(t *testing.T) {
	digests := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "  - registry.example/%d@sha256:%x\n", i, sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
		}
		return b.String()
	}
	for name, tc := range map[string]struct {
		annotations, images string
		want                bool
	}{
		"a small one":      {"", digests(3), false},
		"600 digests":      {"", digests(600), false},
		"1,300 digests":    {"", digests(1300), true},
		"the same text":    {"", strings.Repeat("  - registry.example/a@sha256:"+strings.Repeat("0", 64)+"\n", 1300), false},
		"a signed one":     {"  annotations:\n    cosign.sigstore.dev/message: " + strings.Repeat("H", 100<<10) + "\n", digests(800), true},
		"a small signed":   {"  annotations:\n    cosign.sigstore.dev/message: " + strings.Repeat("H", 60<<10) + "\n", digests(100), false},
		"long annotations": {"  annotations:\n    a: " + strings.Repeat("x", 140<<10) + "\n", digests(1), true},
	} {
		doc, err := exception.Parse([]byte("apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata:\n  name: a\n  namespace: b\n"+tc.annotations+"spec:\n  images:\n"+tc.images), "a.yaml")
		must.Do(t, err)
		warning, found := shapeconfig.ClientSideApply(doc)
		expect.That(t, found == tc.want, "%s: %v, want %v: %s", name, found, tc.want, warning.Message)
	}
}
