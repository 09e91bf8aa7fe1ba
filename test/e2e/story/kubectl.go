package story

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// Kubectl runs kubectl as the cluster's administrator. The error is kubectl's message.
func (w *World) Kubectl(ctx context.Context, args ...string) (string, error) {
	return w.kubectl(ctx, "", args...)
}

// Apply applies a document like `kubectl apply`, with further flags.
func (w *World) Apply(ctx context.Context, document string, flags ...string) (string, error) {
	return w.kubectl(ctx, document, append([]string{"apply", "-f", "-"}, flags...)...)
}

func (w *World) kubectl(ctx context.Context, input string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, WaitLimit)
	defer cancel()
	c := exec.CommandContext(ctx, servers.Kubernetes(w.binaries(), "kubectl"), args...)
	c.Env = []string{"KUBECONFIG=" + w.Cluster.Kubeconfig(), "HOME=" + w.at("home")}
	c.Stdin = strings.NewReader(input)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return string(out), fmt.Errorf("%s (%w)", strings.TrimSpace(stderr.String()), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Delete deletes the objects of a document, and waits until they are gone.
func (w *World) Delete(ctx context.Context, document string) (string, error) {
	return w.kubectl(ctx, document, "delete", "--now", "-f", "-")
}

// refuses returns an error unless a document is rejected with a text.
func (w *World) refuses(ctx context.Context, document, why string, flags ...string) error {
	said, err := w.Apply(ctx, document, flags...)
	if err == nil {
		return fmt.Errorf("it is not refused: %s", said)
	}
	if !strings.Contains(err.Error(), why) {
		return err
	}
	return nil //nolint:nilerr // the caller expects the rejection
}
