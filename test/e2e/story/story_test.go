//go:build e2e

package story_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/github"
	"github.com/polex-dev/polex/test/e2e/story"
	"github.com/polex-dev/polex/test/must"
)

// TestStory runs the parts in this order.
func TestStory(t *testing.T) {
	// They start slowly, and are used later.
	must.Do(t, world.Cluster.StartReportsController(context.Background(), cluster.Controller{}))
	t.Run("a Pod gets an exception, by a pull request", byPullRequest)
	t.Run("an exception lives, is renewed and ends", lives)
	t.Run("the ledger tells what the cluster has past Git", drifts)
	t.Run("what else is brought to the cluster is refused", refusedThroughKubectl)
	t.Run("what else is pushed to Git is not applied", refusedThroughArgoCD)
	t.Run("where the guard is off, Kyverno can check", checkedByKyverno)
}

// byPullRequest tests the way from a pull request to an exception. Each step depends on the one
// before.
func byPullRequest(t *testing.T) {
	asked := map[string]string{}
	for _, kind := range story.Kinds {
		asked["unsigned/"+file(kind, "web")] = kind.Exception(story.Ask{Name: "web"})
	}
	step(t, "Kyverno keeps the Pod out", func(t *testing.T) {
		for _, kind := range story.Kinds {
			keptOut(t, kind.Pod("web", story.First))
		}
	})
	step(t, "an exception for it is proposed, and found well shaped", func(t *testing.T) {
		must.Get(world.Propose(t.Context(), "ask", asked))(t).Ended(t, github.All("validate", "verify"))
	})
	step(t, "nobody has signed it, so the cluster does not take it", func(t *testing.T) {
		for _, text := range asked {
			refused(t, text, "unsigned")
		}
	})
	step(t, "it is merged, and the merge workflow signs it", func(t *testing.T) {
		must.Get(world.Merge(t.Context(), "ask"))(t).Ended(t, github.All("settings", "sign", "commit", "notify"))
	})
	step(t, "the commit is on the Git server", func(t *testing.T) {
		clone := cloned(t)
		for path := range asked {
			if slices.Contains(clone, path) || !slices.Contains(clone, strings.Replace(path, "unsigned/", "signed/", 1)) {
				t.Errorf("%s was not moved to signed/: %q", path, clone)
			}
		}
	})
	step(t, "Argo CD applies the commit, and the guard admits it", func(t *testing.T) {
		syncedAt(t, must.Get(world.Exceptions.Tip(t.Context()))(t))
		for _, kind := range story.Kinds {
			there(t, kind, "web")
		}
	})
	for _, kind := range story.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			step(t, "Kyverno lets the Pod in", func(t *testing.T) { letIn(t, kind.Pod("web", story.First)) })
			step(t, "another Pod stays out", func(t *testing.T) { keptOut(t, kind.Pod("web-2", story.First)) })
			step(t, "another rule keeps the Pod out", func(t *testing.T) { keptOut(t, kind.Pod("web", story.Both)) })
		})
	}
}
