// Package clusterread reads the exceptions of the cluster that a flag names.
package clusterread

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/polex-dev/polex/internal/apiserver"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/ledger/cluster"
)

// Read returns the exceptions of the current cluster of a kubeconfig. Its errors have hints.
func Read(ctx context.Context, kubeconfig string) (ledger.Cluster, error) {
	server, err := apiserver.Open(kubeconfig, "")
	if err != nil {
		return ledger.Cluster{}, &cli.UsageError{Err: err}
	}
	there, err := cluster.Read(ctx, server)
	if err == nil {
		return there, nil
	}
	hint := "does kubectl reach it, with the same file?"
	switch {
	case errors.Is(err, cluster.ErrNotServed):
		hint = "is it the right cluster, and is Kyverno installed?"
	case apierrors.IsForbidden(err):
		hint = "it requires the permission list on policyexceptions of both groups, in all namespaces"
	}
	return there, cli.Hint(fmt.Errorf("read the cluster: %w", err), hint)
}
