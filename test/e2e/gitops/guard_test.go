//go:build e2e

package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/argocd"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/guard"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// guarded registers polex-guard until the test ends. also is further text for its trust policy.
func guarded(t *testing.T, also ...string) *guard.Process {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	text := fixture.TrustPolicy(t, box) + strings.Join(also, "") + "\nguard:\n  namespaces: [" + where + "]\n"
	must.Do(t, os.WriteFile(config, []byte(text), 0o600))
	process, bundle := guard.Serve(t, guard.Options{Binaries: folder, Dir: dir, Config: config,
		Kubeconfig: live.Kubeconfig()})
	apply(t, guard.Registration(process.Webhook, bundle))
	t.Cleanup(func() { unguarded(t) })
	until(t, "the API server to ask the guard", func(ctx context.Context) error {
		answer, err := live.DryRun(ctx, exceptions, []byte(draft("probe")))
		if err == nil && !strings.Contains(answer.Message(), "[unsigned]") {
			err = errors.New(answer.Message())
		}
		return err
	})
	return process
}

// unguarded removes the webhook, and waits until the API server no longer calls the guard.
func unguarded(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	_, err := live.Delete(ctx, guard.Webhooks+"/polex-guard")
	expect.NoError(t, err)
	err = live.Until(ctx, "the API server to ask nobody", func(ctx context.Context) error {
		return cluster.OK(live.DryRun(ctx, exceptions, []byte(draft("probe"))))
	})
	expect.NoError(t, err)
}

// trustPolicy returns the examples' trust policy with the issuer, the workflow and the number of the sandbox.
func trustPolicy(t *testing.T) string {
	t.Helper()
	text := example(t, "argocd/plugin/trust.yaml", repository{})
	for old, now := range map[string]string{
		"      github:\n": "      issuer: " + box.IssuerURL + "\n      github:\n", "123456789": "1001",
	} {
		must.That(t, strings.Contains(text, old), "the trust policy has no %q:\n%s", old, text)
		text = strings.Replace(text, old, now, 1)
	}
	return text
}

// configMap returns a ConfigMap like `kubectl create configmap --from-file`.
func configMap(t *testing.T, namespace, name string, files map[string]string) string {
	t.Helper()
	return string(must.Get(json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "namespace": namespace}, "data": files}))(t))
}

func trustedRoot(t *testing.T) string {
	t.Helper()
	return string(must.Get(os.ReadFile(box.TrustedRootPath))(t))
}

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
	expect.Contains(t, found.Sync.Status, "OutOfSync")

	clone := filepath.Join(t.TempDir(), "clone")
	git(t, "clone", "--quiet", r.url, clone)
	prune := exec.CommandContext(t.Context(), filepath.Join(folder, "polex-prune"), "--push")
	prune.Dir = clone
	prune.Env = append(os.Environ(), "GIT_AUTHOR_NAME=Exceptions workflow", "GIT_AUTHOR_EMAIL=workflow@example.com")
	must.Run(t, prune)
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
