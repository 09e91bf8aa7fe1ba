package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// starting is how long the servers may take until they are ready.
const starting = 3 * time.Minute

// Options say where the programs are.
type Options struct {
	Binaries string // folder that holds etcd, kube-apiserver and kyverno
	Tools    string // folder of the module that pins Kyverno
	Dir      string // for data and logs; an empty one
	// KyvernoEnv are variables for Kyverno, NAME=value.
	KyvernoEnv []string
	// WithoutKyverno starts the API server with Kyverno's definitions alone.
	WithoutKyverno bool
	// Audited are users whose requests the API server writes down, in AuditLog.
	Audited []string
}

// Cluster is a running API server with Kyverno.
type Cluster struct {
	*Client
	*servers.Group

	options Options

	kyvernoMetrics string
}

// Start runs everything, and returns once Kyverno judges exceptions, if it is to. The
// processes end with Close or with the context.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	c := &Cluster{options: options, Group: &servers.Group{Binaries: options.Binaries, Dir: options.Dir}}
	steps := []func(ctx, within context.Context) error{c.startAPIServer, c.install, c.served, c.startKyverno}
	if options.WithoutKyverno {
		steps = steps[:3]
	}
	if err := c.Steps(ctx, starting, steps...); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Kubeconfig is the path of a file that says how to reach the API server as an
// administrator.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.options.Dir, "kubeconfig") }

// AuditLog is the path of a file with a line of JSON, an audit.k8s.io/v1 Event, for
// each request of the users that are audited.
func (c *Cluster) AuditLog() string { return filepath.Join(c.options.Dir, "audit.log") }

// KyvernoMetrics is where Kyverno says what it measures, or "" without Kyverno.
func (c *Cluster) KyvernoMetrics() string { return c.kyvernoMetrics }

func write(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }
