//go:build e2e

package gitops

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/argocd"
)

// TestExpiryAndSelfHeal: the guard deletes an expired exception. Argo CD tries to restore it from
// Git, and the guard rejects it until polex-prune has removed it from Git.
func TestExpiryAndSelfHeal(t *testing.T) {
	// It is signed now, and expires in twenty seconds.
	short := sealing{behind: 40 * time.Second}.seal(t, lasting("short", "1m"))[0]
	r := newRepository(t, "expiry", map[string]string{"signed/honest.yaml": seal(t, draft("honest"))[0], "signed/short.yaml": short})
	guarded(t)
	deployed(t, "argocd/application.yaml", r)
	until(t, "both to be there", func(ctx context.Context) error { return storedAre(ctx, "honest", "short") })
	until(t, "one to end", func(ctx context.Context) error { return storedAre(ctx, "honest") })

	found := watched(t, "Argo CD to be refused", func(a *argocd.Application) bool {
		return failed(a) && containsAll(a.Said(), []string{"PolicyException " + where + "/short: SyncFailed", "[expired]"})
	})
	holds(t, "honest")
	says(t, found.Sync.Status, "OutOfSync")

	clone := filepath.Join(t.TempDir(), "clone")
	git(t, "clone", "--quiet", r.url, clone)
	prune := exec.CommandContext(t.Context(), filepath.Join(folder, "polex-prune"), "--push")
	prune.Dir = clone
	prune.Env = append(os.Environ(), "GIT_AUTHOR_NAME=Exceptions workflow", "GIT_AUTHOR_EMAIL=workflow@example.com")
	if out, err := prune.CombinedOutput(); err != nil {
		t.Fatalf("polex-prune: %v\n%s", err, out)
	}
	pruned := watched(t, "calm", func(a *argocd.Application) bool {
		return a.Sync.Status == "Synced" && a.Sync.Revision != found.Sync.Revision && a.OperationState.Phase == "Succeeded"
	})
	if len(pruned.Conditions) > 0 {
		t.Errorf("it still complains: %s", pruned.Said())
	}
	holds(t, "honest")
}

// storedAre returns an error unless the cluster has exactly these exceptions.
func storedAre(ctx context.Context, want ...string) error {
	have, err := stored(ctx)
	if err == nil && !slices.Equal(have, want) {
		err = fmt.Errorf("there is %q", have)
	}
	return err
}
