//go:build e2e

package policies

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
)

// waitLimit is the timeout for expected events; cron has a resolution of minutes.
const waitLimit = 3 * time.Minute

// file returns a file of policies/.
func file(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(fixture.FromRoot("policies/" + path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// built returns the manifests of a folder of policies.
func built(t *testing.T, dir string) string {
	t.Helper()
	return kustomize(t, fixture.FromRoot("policies/"+dir))
}

func kustomize(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), fixture.Kubectl(), "kustomize", dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("build %s: %v: %s", dir, err, &stderr)
	}
	return string(out)
}

// apply applies manifests with kubectl, and rejects unknown fields.
func apply(t *testing.T, manifests string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), fixture.Kubectl(), "apply", "--server-side", "--force-conflicts", "--validate=strict", "--kubeconfig", live.Kubeconfig(), "-f", "-")
	cmd.Stdin = strings.NewReader(manifests)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("apply: %v: %s\n%s", err, out, manifests)
	}
}

// withdraw deletes the applied objects.
func withdraw(t *testing.T, manifests string) {
	t.Helper()
	cmd := exec.Command(fixture.Kubectl(), "delete", "--ignore-not-found", "--kubeconfig", live.Kubeconfig(), "-f", "-")
	cmd.Stdin = strings.NewReader(manifests)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("delete: %v: %s", err, out)
	}
}

// until repeats a check until it succeeds, within waitLimit.
func until(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	if err := live.Until(ctx, what, ask); err != nil {
		t.Fatal(err)
	}
}

// isThere returns an error unless an object exists, or does not exist.
func isThere(ctx context.Context, path string, there bool) error {
	answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: path})
	switch {
	case err != nil:
		return err
	case there && answer.Code != http.StatusOK, !there && answer.Code != http.StatusNotFound:
		return errors.New(path + ": " + http.StatusText(answer.Code))
	}
	return nil
}
