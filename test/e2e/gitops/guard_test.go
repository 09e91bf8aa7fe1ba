//go:build e2e

package gitops

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/guard"
)

// guarded registers polex-guard until the test ends. also is further text for its trust policy.
func guarded(t *testing.T, also ...string) *guard.Process {
	t.Helper()
	dir := t.TempDir()
	trust, err := os.ReadFile(box.ConfigPath)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "config.yaml")
	text := strings.ReplaceAll(string(trust), "trustedRoot: "+filepath.Base(box.TrustedRootPath), "trustedRoot: "+box.TrustedRootPath) +
		strings.Join(also, "") + "\nguard:\n  namespaces: [" + where + "]\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	bundle, err := guard.Certify(dir)
	if err != nil {
		t.Fatal(err)
	}
	process, err := guard.Start(context.Background(), guard.Options{Binaries: folder, Dir: dir, Config: config, Kubeconfig: live.Kubeconfig()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(process.Logs())
		}
		process.Stop()
	})
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	if err := process.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	apply(t, guard.Registration(process.Webhook, bundle))
	t.Cleanup(func() { unguarded(t) })
	if err := process.Until(ctx, "the API server to ask the guard", func(ctx context.Context) error {
		answer, err := live.DryRun(ctx, exceptions, []byte(draft("probe")))
		if err == nil && !strings.Contains(answer.Message(), "[unsigned]") {
			err = errors.New(answer.Message())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return process
}

// unguarded removes the webhook, and waits until the API server no longer calls the guard.
func unguarded(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	if _, err := live.Do(ctx, cluster.Request{Method: http.MethodDelete, Path: guard.Webhooks + "/polex-guard"}); err != nil {
		t.Error(err)
	}
	if err := live.Until(ctx, "the API server to ask nobody", func(ctx context.Context) error {
		answer, err := live.DryRun(ctx, exceptions, []byte(draft("probe")))
		if err == nil && !answer.OK() {
			err = errors.New(answer.Message())
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}
