//go:build e2e

package story_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/argocd"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/story"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// attempt is an exception that the cluster must reject.
type attempt struct {
	name, reason string
	ask          story.Ask
	by           story.Signer
	unsigned     bool
	then         *strings.Replacer // a change after signing
	elsewhere    bool              // in a namespace without exceptions
}

// attempts lists such exceptions with the expected reasons. Fulcio issued each certificate for this test.
var attempts = []attempt{
	{name: "unsigned", reason: "unsigned", unsigned: true},
	{name: "altered after signing", reason: "altered", then: strings.NewReplacer("[ipc]", `["*"]`, "object.metadata.name == ", "object.metadata.name != ")},
	{name: "signed by another workflow", reason: "wrong-identity", by: signer(sandbox.Identity{WorkflowFile: ".github/workflows/other.yaml"})},
	{name: "signed on another branch", reason: "wrong-identity", by: otherBranch},
	{name: "signed in another repository", reason: "wrong-identity", by: signer(sandbox.Identity{Repository: "acme/fork"})},
	{name: "signed in a repository that took over the name", reason: "wrong-identity", by: signer(sandbox.Identity{RepositoryID: "1002"})},
	{name: "signed by hand instead of by a merge", reason: "wrong-identity", by: signer(sandbox.Identity{EventName: "workflow_dispatch"})},
	{name: "signed on a machine of somebody's own", reason: "wrong-identity", by: signer(sandbox.Identity{RunnerEnvironment: "self-hosted"})},
	{name: "expired", reason: "expired", ask: story.Ask{For: "1m"}, by: story.Signer{Behind: 5 * time.Minute}},
	{name: "moved to another namespace", reason: "altered", elsewhere: true, then: strings.NewReplacer("\n  namespace: "+story.Namespace, "\n  namespace: "+story.Team)},
	{name: "signed for a namespace without exceptions", reason: "namespace-not-allowed", elsewhere: true, ask: story.Ask{Namespace: story.Team}},
	{name: "exempting from what guards exceptions", reason: "reaches-guard", ask: story.Ask{Policy: "polex-verify"}},
}

var otherBranch = signer(sandbox.Identity{Ref: "refs/heads/feature"})

func signer(id sandbox.Identity) story.Signer { return story.Signer{Identity: id} }

// of returns the document of an attempt.
func (a attempt) of(t *testing.T, kind story.Kind) string {
	t.Helper()
	a.ask.Name = a.label()
	document := kind.Exception(a.ask)
	if !a.unsigned {
		document = sealed(t, a.by, document)
	}
	if a.then == nil {
		return document
	}
	changed := a.then.Replace(document)
	must.That(t, changed != document, "nothing was changed")
	return changed
}

// label returns a name for its objects.
func (a attempt) label() string { return strings.NewReplacer(" ", "-", "'", "").Replace(a.name) }

// refusedThroughKubectl: the API server rejects every attempt with its reason, and the exception does not exist.
func refusedThroughKubectl(t *testing.T) {
	for _, a := range attempts {
		t.Run(a.name, func(t *testing.T) {
			for _, kind := range story.Kinds {
				t.Run(kind.Name, func(t *testing.T) {
					refused(t, a.of(t, kind), a.reason)
					notThere(t, kind, a.label())
				})
			}
		})
	}
	// A replaced exception cannot return, although it is signed and not expired.
	t.Run("replayed from before it was replaced", func(t *testing.T) {
		for _, kind := range story.Kinds {
			t.Run(kind.Name, func(t *testing.T) { refused(t, replaced(t, kind, "replaced"), "rollback") })
		}
	})
}

// replaced creates an exception and then a newer one in the cluster, and returns the older one.
func replaced(t *testing.T, kind story.Kind, name string) string {
	t.Helper()
	older := sealed(t, story.Signer{}, kind.Exception(story.Ask{Name: name, For: "30d"}))
	fixture.NextSecond(t)
	newer := sealed(t, story.Signer{}, kind.Exception(story.Ask{Name: name, For: "1d"}))
	admitted(t, older)
	admitted(t, newer)
	return older
}

// refusedThroughArgoCD: a user with push access commits the same attempts below signed/, from where
// Argo CD applies them. The status of the Application shows the reason of the rejection.
func refusedThroughArgoCD(t *testing.T) {
	branches := map[string]string{} // and the expected message of each
	publish := func(branch, said string, of func(story.Kind) string) {
		t.Helper()
		files := map[string]string{}
		for _, kind := range story.Kinds {
			files["signed/"+file(kind, branch)] = of(kind)
		}
		must.Do(t, world.Publish(t.Context(), branch, files))
		branches[branch] = said
	}
	for _, a := range attempts {
		said := denied(a.reason)
		if a.elsewhere {
			// Argo CD's project restricts the namespace, and the guard is not called.
			said = "namespace " + story.Team + " is not permitted in project"
		}
		publish(a.label(), said, func(kind story.Kind) string { return a.of(t, kind) })
	}
	publish("replayed", denied("rollback"), func(kind story.Kind) string { return replaced(t, kind, "replayed") })
	for branch := range branches {
		must.Do(t, world.Follow(t.Context(), branch))
		// It would retry while the guard is off.
		t.Cleanup(func() { expect.NoError(t, world.ArgoCD.Delete(context.Background(), branch)) })
	}
	for branch, want := range branches {
		t.Run(branch, func(t *testing.T) {
			must.Do(t, world.Applied(t.Context(), branch, func(said *argocd.Application) error {
				got := strings.Count(said.Said(), want)
				return expect.Unless(got >= len(story.Kinds), "it says %q %d times, and not of each kind", want, got)
			}))
			for _, kind := range story.Kinds {
				if branch != "replayed" {
					notThere(t, kind, branch)
				}
			}
		})
	}
}

// denied returns the guard's message for a reason.
func denied(reason string) string {
	return `admission webhook "guard.polex.dev" denied the request: [` + reason + `] `
}
