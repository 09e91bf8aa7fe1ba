// Package clusterread reads the cluster that a flag names.
package clusterread

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/polex-dev/polex/internal/apiserver"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/ledger/cluster"
)

// Live is a cluster: one of a kubeconfig, or the objects in the output of kubectl.
type Live struct {
	ledger.Cluster
	server *apiserver.Server
	stream *cluster.Stream
}

// Read returns the exceptions of the current cluster of a kubeconfig. Its errors have hints.
func Read(ctx context.Context, kubeconfig string) (*Live, error) {
	server, err := apiserver.Open(kubeconfig, "")
	if err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	c, err := cluster.Read(ctx, server)
	if err == nil {
		return &Live{Cluster: c, server: server}, nil
	}
	hint := "does kubectl reach it, with the same file?"
	switch {
	case errors.Is(err, cluster.ErrNotServed):
		hint = "is it the right cluster, and is Kyverno installed?"
	case apierrors.IsForbidden(err):
		hint = "it requires the permission list on policyexceptions of both groups, in all namespaces"
	}
	return nil, cli.Hint(fmt.Errorf("read the cluster: %w", err), hint)
}

// maxDump is the maximum size of the kubectl output. 5,000 signed exceptions need 60 MB.
const maxDump = 256 << 20

// File returns the objects in the output of kubectl: the file of --live, or in if it is "-". It keeps other
// objects than exceptions and reports if keepsOthers is true.
func File(name string, in io.Reader, keepsOthers bool) (*Live, error) {
	if name != "-" {
		file, err := os.Open(name) // #nosec G304 -- the user names the file
		if err != nil {
			return nil, fmt.Errorf("--live: %w", err)
		}
		defer file.Close() //nolint:errcheck // only read
		in = file
	}
	s, err := cluster.Parse(&limited{in, maxDump}, keepsOthers)
	if err != nil {
		return nil, cli.Hint(fmt.Errorf("--live %s: %w", name, err),
			"write it with kubectl get policyexceptions.kyverno.io,policyexceptions.policies.kyverno.io -A -o yaml")
	}
	return &Live{Cluster: s.Cluster, stream: s}, nil
}

// limited returns an error instead of more than so many bytes.
type limited struct {
	in   io.Reader
	left int
}

// Read implements [io.Reader].
func (l *limited) Read(into []byte) (int, error) {
	n, err := l.in.Read(into)
	if l.left -= n; l.left < 0 {
		return 0, fmt.Errorf("it is larger than %d MiB", maxDump>>20)
	}
	return n, err
}
