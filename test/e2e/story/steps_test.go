//go:build e2e

package story_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/argocd"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/story"
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
		if err == nil {
			t.Fatalf("kubectl apply %q says %q, and not [%s]", flags, said, reason)
		}
		if want := denied(reason); !strings.Contains(err.Error(), want) {
			t.Fatalf("kubectl apply %q: want %q: %v", flags, want, err)
		}
		if flags == nil {
			t.Log(err)
		}
	}
}

// eventually waits until a check succeeds.
func eventually(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	within, cancel := context.WithTimeout(t.Context(), story.WaitLimit)
	defer cancel()
	must.Do(t, world.Cluster.Until(within, what, ask))
}

// syncedAt waits until Argo CD has applied a commit.
func syncedAt(t *testing.T, commit string) {
	t.Helper()
	must.Do(t, world.Applied(t.Context(), story.Application, func(said *argocd.Application) error {
		if said.Sync.Status != "Synced" || said.Sync.Revision != commit {
			return fmt.Errorf("it is %s at %s, and not at %s", said.Sync.Status, said.Sync.Revision, commit)
		}
		return nil
	}))
}

// eventuallyKeptOut waits until Kyverno has noticed a deleted exception.
func eventuallyKeptOut(t *testing.T, pod string) {
	t.Helper()
	eventually(t, "Kyverno to keep the Pod out", func(ctx context.Context) error {
		if said, err := world.Apply(ctx, pod, "--dry-run=server"); err == nil {
			return errors.New(said)
		}
		return nil
	})
	keptOut(t, pod)
}

// keptOut checks that Kyverno rejects a Pod, with the violated rule.
func keptOut(t *testing.T, pod string) {
	t.Helper()
	said, err := world.Apply(t.Context(), pod)
	if err == nil {
		t.Fatalf("the Pod was let in: %s", said)
	}
	if !strings.Contains(err.Error(), "no Pod ") || !strings.Contains(err.Error(), "kyverno") {
		t.Fatalf("the Pod was kept out by somebody else: %v", err)
	}
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
	clone := exec.CommandContext(t.Context(), "git", "clone", "--quiet", world.GitURL, dir)
	must.Run(t, clone)
	list := exec.CommandContext(t.Context(), "git", "-C", dir, "ls-files")
	out := must.Get(list.Output())(t)
	files := strings.Fields(string(out))
	slices.Sort(files)
	return files
}

// file returns the file name of an exception.
func file(kind story.Kind, name string) string {
	return strings.ToLower(kind.Name) + "/" + name + ".yaml"
}

// there checks that the cluster has an exception.
func there(t *testing.T, kind story.Kind, name string) {
	t.Helper()
	if _, err := world.Kubectl(t.Context(), "get", kind.Resource, "-n", story.Namespace, name); err != nil {
		t.Error(err)
	}
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
