//go:build e2e

package story_test

import (
	"context"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/story"
)

// checkedByKyverno: without the guard and with Kyverno's verification, exceptions signed by the
// merge workflow are admitted, and no others.
func checkedByKyverno(t *testing.T) {
	must(t, world.GuardOff(t.Context()))
	t.Cleanup(func() { must(t, world.GuardOn(context.Background())) })
	must(t, world.KyvernoOn(t.Context()))
	t.Cleanup(func() { must(t, world.KyvernoOff(context.Background())) })
	for _, kind := range story.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			draft := kind.Exception(story.Ask{Name: "by-kyverno"})
			honest := sealed(t, story.Signer{}, draft)
			step(t, "unsigned, it is refused", func(t *testing.T) { refusedByKyverno(t, draft, "message not found") })
			step(t, "altered after signing, it is refused", func(t *testing.T) {
				refusedByKyverno(t, strings.Replace(honest, "team-a", "team-b", 1), "diff found")
			})
			step(t, "signed on another branch, it is refused", func(t *testing.T) {
				refusedByKyverno(t, sealed(t, otherBranch, draft), "does not match")
			})
			step(t, "signed by the merge workflow, it is admitted", func(t *testing.T) { admitted(t, honest) })
			step(t, "and lets the Pod in", func(t *testing.T) { letIn(t, kind.Pod("by-kyverno", story.First)) })
		})
	}
}

// refusedByKyverno checks that Kyverno's policy rejects a document.
func refusedByKyverno(t *testing.T, document, why string) {
	t.Helper()
	said, err := world.Apply(t.Context(), document)
	if err == nil {
		t.Fatalf("it was admitted: %s", said)
	}
	for _, part := range []string{"kyverno.svc", "polex-verify", why} {
		if !strings.Contains(err.Error(), part) {
			t.Fatalf("it does not say %q: %v", part, err)
		}
	}
	t.Log(err)
}
