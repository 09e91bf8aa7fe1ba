package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// starting is the timeout for the start of all servers.
const starting = 3 * time.Minute

// Options has the folders and settings.
type Options struct {
	Binaries string // folder with etcd, kube-apiserver and kyverno
	Tools    string // folder of the module with Kyverno's version
	Dir      string // an empty folder for data and logs
	// KyvernoEnv are variables for Kyverno, NAME=value.
	KyvernoEnv []string
	// KyvernoAccount runs Kyverno as its ServiceAccount, which the policies of protect know, and not as
	// the administrator.
	KyvernoAccount bool
	// WithoutKyverno starts only the API server, with Kyverno's definitions.
	WithoutKyverno bool
	// Flags are more flags of the API server.
	Flags []string
	// Audited are users with their requests in the AuditLog.
	Audited []string
}

// Cluster is a running API server with Kyverno.
type Cluster struct {
	*Client
	*servers.Group

	options Options

	kyvernoMetrics string

	clientCA  *x509.Certificate // of client certificates
	clientKey *ecdsa.PrivateKey
}

// Start starts everything, and returns when Kyverno checks exceptions, unless it is excluded. The
// processes stop with Close or with the context.
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

// Kubeconfig returns the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.options.Dir, "kubeconfig") }

// AuditLog returns the path of a file with a line of JSON, an audit.k8s.io/v1 Event, for each
// request of the audited users.
func (c *Cluster) AuditLog() string { return filepath.Join(c.options.Dir, "audit.log") }

// KyvernoMetrics returns the address of Kyverno's metrics, or "" without Kyverno.
func (c *Cluster) KyvernoMetrics() string { return c.kyvernoMetrics }

func write(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }
