package manifest_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/test/expect"
)

// notServed are types of Kubernetes that are no resources of their own.
var notServed = []string{"APIGroup", "APIVersions", "PodStatusResult", "RangeAllocation", "SerializedReference", "Status", "Scale", "TokenRequest", "Eviction",
	"DeploymentRollback", "WatchEvent"}

// TestKinds compares the table with the types of Kubernetes, and the plurals with its own rule. The
// scopes are compared with the API server in test/e2e.
func TestKinds(t *testing.T) {
	known := 0
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version == "__internal" || gvk.Group == "extensions" || slices.Contains(notServed, gvk.Kind) || strings.HasSuffix(gvk.Kind, "List") || strings.HasSuffix(gvk.Kind, "Options") {
			continue
		}
		known++
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		expect.Is(t, resource.String(), gvk.Kind, manifest.KindOf(gvk.Group, resource.Resource))
		expect.That(t, slices.Contains(manifest.Kinds(), gvk.Kind), "%s is missing", gvk.Kind)
	}
	expect.AtLeast(t, "types", 80, known)
	expect.Is(t, "kind", "APIService", manifest.KindOf("apiregistration.k8s.io", "apiservices"))
}
