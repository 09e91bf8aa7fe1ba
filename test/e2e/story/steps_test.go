//go:build e2e

package story_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/argocd"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/github"
	"github.com/polex-dev/polex/test/e2e/story"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// world is shared by all tests of this process.
var world *story.World

func TestMain(m *testing.M) {
	fixture.Main(m, func(ctx context.Context, f *fixture.Fixture) (err error) {
		if world, err = story.Start(ctx, story.Options{Root: fixture.FromRoot(""), Dir: f.Folder, Log: os.Stdout}); err == nil {
			f.Keep(world)
		}
		return err
	})
}

// step runs a part of a test. If it fails, the test stops.
func step(t *testing.T, name string, run func(t *testing.T)) {
	t.Helper()
	if !t.Run(name, run) {
		t.FailNow()
	}
}

// refused checks that the guard rejects a document with a reason, for a user of kubectl.
func refused(t *testing.T, document, reason string) {
	t.Helper()
	for _, flags := range [][]string{nil, {"--server-side", "--force-conflicts"}, {"--dry-run=server"}} {
		said, err := world.Apply(t.Context(), document, flags...)
		must.That(t, err != nil, "kubectl apply %q says %q, and not [%s]", flags, said, reason)
		want := denied(reason)
		must.That(t, strings.Contains(err.Error(), want), "kubectl apply %q: want %q: %v", flags, want, err)
		if flags == nil {
			t.Log(err)
		}
	}
}

// eventually waits until a check succeeds.
func eventually(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	fixture.Until(t, world.Cluster, story.WaitLimit, what, ask)
}

// syncedAt waits until Argo CD has applied a commit.
func syncedAt(t *testing.T, commit string) {
	t.Helper()
	must.Do(t, world.Applied(t.Context(), story.Application, func(said *argocd.Application) error {
		return expect.Unless(said.Sync.Status == "Synced" && said.Sync.Revision == commit,
			"it is %s at %s, and not at %s", said.Sync.Status, said.Sync.Revision, commit)
	}))
}

// eventuallyKeptOut waits until Kyverno has noticed a deleted exception.
func eventuallyKeptOut(t *testing.T, pod string) {
	t.Helper()
	eventually(t, "Kyverno to keep the Pod out", func(ctx context.Context) error {
		said, err := world.Apply(ctx, pod, "--dry-run=server")
		return expect.Unless(err != nil, "%s", said)
	})
	keptOut(t, pod)
}

// keptOut checks that Kyverno rejects a Pod, with the violated rule.
func keptOut(t *testing.T, pod string) {
	t.Helper()
	said, err := world.Apply(t.Context(), pod)
	must.That(t, err != nil, "the Pod was let in: %s", said)
	must.That(t, strings.Contains(err.Error(), "no Pod ") && strings.Contains(err.Error(), "kyverno"),
		"the Pod was kept out by somebody else: %v", err)
	t.Log(err)
}

// letIn checks that a Pod is admitted when Kyverno has noticed its exception, and deletes the Pod.
func letIn(t *testing.T, pod string) {
	t.Helper()
	eventually(t, "Kyverno to let the Pod in", func(ctx context.Context) error {
		_, err := world.Apply(ctx, pod)
		return err
	})
	must.Get(world.Delete(t.Context(), pod))(t)
}

// cloned returns the files in a clone of the repository.
func cloned(t *testing.T) []string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	must.Run(t, exec.CommandContext(t.Context(), "git", "clone", "--quiet", world.GitURL, dir))
	return strings.Fields(must.Output(t, exec.CommandContext(t.Context(), "git", "-C", dir, "ls-files")))
}

// file returns the file name of an exception.
func file(kind story.Kind, name string) string {
	return strings.ToLower(kind.Name) + "/" + name + ".yaml"
}

// there checks that the cluster has an exception.
func there(t *testing.T, kind story.Kind, name string) {
	t.Helper()
	_, err := world.Kubectl(t.Context(), "get", kind.Resource, "-n", story.Namespace, name)
	expect.NoError(t, err)
}

// notThere checks that the cluster does not have an exception.
func notThere(t *testing.T, kind story.Kind, name string) {
	t.Helper()
	out, err := world.Kubectl(t.Context(), "get", kind.Resource, "-n", story.Namespace, name)
	if err == nil || !strings.Contains(err.Error(), "(NotFound)") {
		t.Errorf("%s %s is there: %s", kind.Resource, name, errors.Join(errors.New(out), err))
	}
}

// admitted checks that the API server accepts a document.
func admitted(t *testing.T, document string) {
	t.Helper()
	must.Get(world.Apply(t.Context(), document))(t)
}

// sealed signs an exception.
func sealed(t *testing.T, by story.Signer, document string) string {
	t.Helper()
	return must.Get(world.Seal(t.Context(), by, document))(t)[0]
}

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

// byPullRequest tests the way from a pull request to an exception. Each step depends on the one before.
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
