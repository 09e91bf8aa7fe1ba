package audit

import (
	"context"
	"fmt"
	"runtime"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/clusterread"
	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/ledger/cluster"
)

// maxDump is the maximum size of the kubectl output. 5,000 signed exceptions need 60 MB.
const maxDump = 256 << 20

// compare compares the report with the cluster of the flags.
func (r *run) compare(ctx context.Context, l *ledger.Ledger) error {
	var c ledger.Cluster
	var err error
	switch o := r.options; {
	case o.clusterFile != "":
		c, err = r.clusterFile()
	case o.kubeconfig != "":
		c, err = clusterread.Read(ctx, o.kubeconfig)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	return l.Compare(c, r.verifier, runtime.GOMAXPROCS(0))
}

// clusterFile reads the output of kubectl.
func (r *run) clusterFile() (ledger.Cluster, error) {
	name := r.options.clusterFile
	raw, err := cli.ReadInput(name, r.streams.In, maxDump)
	if err != nil {
		return ledger.Cluster{}, fmt.Errorf("--live: %w", err)
	}
	c, err := cluster.Parse(raw)
	if err != nil {
		return c, cli.Hint(fmt.Errorf("--live %s: %w", name, err),
			"write it with kubectl get policyexceptions.kyverno.io,policyexceptions.policies.kyverno.io -A -o yaml")
	}
	return c, nil
}
