// Package clusterread reads the exceptions of the cluster that a flag names.
package clusterread

import (
	"context"
	"errors"
	"fmt"
	"io"

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
	c, err := cluster.Read(ctx, server)
	if err == nil {
		return c, nil
	}
	hint := "does kubectl reach it, with the same file?"
	switch {
	case errors.Is(err, cluster.ErrNotServed):
		hint = "is it the right cluster, and is Kyverno installed?"
	case apierrors.IsForbidden(err):
		hint = "it requires the permission list on policyexceptions of both groups, in all namespaces"
	}
	return c, cli.Hint(fmt.Errorf("read the cluster: %w", err), hint)
}

// maxDump is the maximum size of the kubectl output. 5,000 signed exceptions need 60 MB.
const maxDump = 256 << 20

// File returns the exceptions in the output of kubectl: the file of --live, or in if it is "-".
func File(name string, in io.Reader) (ledger.Cluster, error) {
	raw, err := cli.ReadInput(name, in, maxDump)
	if err != nil {
		return ledger.Cluster{}, fmt.Errorf("--live: %w", err)
	}
	c, err := cluster.Parse(raw)
	if err != nil {
		err = cli.Hint(fmt.Errorf("--live %s: %w", name, err),
			"write it with kubectl get policyexceptions.kyverno.io,policyexceptions.policies.kyverno.io -A -o yaml")
	}
	return c, err
}
