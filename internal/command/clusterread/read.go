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
	"github.com/polex-dev/polex/internal/ledger/cluster"
	"github.com/polex-dev/polex/pkg/exception"
)

// Live is a cluster: one of a kubeconfig, or the objects in the output of kubectl.
type Live struct {
	server *apiserver.Server

	file        string
	in          io.Reader
	keepsOthers bool
	stream      *cluster.Stream // after [Live.Exceptions]
}

// Open returns the current cluster of a kubeconfig.
func Open(kubeconfig string) (*Live, error) {
	server, err := apiserver.Open(kubeconfig, "")
	if err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	return &Live{server: server}, nil
}

// File returns the cluster in the output of kubectl: the file of --live, or in if it is "-". Of other objects
// than exceptions and reports, only those of keepsOthers are kept.
func File(name string, in io.Reader, keepsOthers bool) *Live {
	return &Live{file: name, in: in, keepsOthers: keepsOthers}
}

// Exceptions calls visit for each exception, and returns the reason for each one that cannot be read. Its
// errors have hints.
func (l *Live) Exceptions(ctx context.Context,
	visit func(*exception.Document) error) (unreadable []string, err error) {
	if l.server == nil {
		return l.inFile(visit)
	}
	unreadable, err = cluster.Read(ctx, l.server, visit)
	if err == nil {
		return unreadable, nil
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

func (l *Live) inFile(visit func(*exception.Document) error) (unreadable []string, err error) {
	if l.file != "-" {
		file, err := os.Open(l.file) // #nosec G304 -- the user names the file
		if err != nil {
			return nil, fmt.Errorf("--live: %w", err)
		}
		defer file.Close() //nolint:errcheck // only read
		l.in = file
	}
	l.stream, err = cluster.Parse(&limited{l.in, maxDump}, l.keepsOthers, visit)
	if err != nil {
		return nil, cli.Hint(fmt.Errorf("--live %s: %w", l.file, err),
			"write it with kubectl get policyexceptions.kyverno.io,policyexceptions.policies.kyverno.io -A -o yaml")
	}
	return l.stream.Unreadable, nil
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
