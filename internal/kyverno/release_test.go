package kyverno_test

import (
	"fmt"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
)

// TestWatchedVersion: Kyverno reads each kind of exceptions in a version that its newest release
// still serves, and no other kind.
func TestWatchedVersion(t *testing.T) {
	for _, kind := range kyverno.Kinds() {
		version, known := kyverno.VersionOf(kind, kyverno.WatchedVersion(kind))
		if !known || version.To != 0 {
			t.Errorf("%s is read in %q: %+v", kind, kyverno.WatchedVersion(kind), version)
		}
	}
	other := exception.GroupKind{Group: exception.KyvernoGroup, Kind: "ClusterPolicy"}
	expect.Is(t, fmt.Sprintf("%s is read in", other), "", kyverno.WatchedVersion(other))
}
