package sigstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// startTrillian runs the trees for Rekor v1 and the CT log.
func (s *Sigstore) startTrillian(ctx, within context.Context) error {
	free, err := servers.FreePorts(4)
	if err != nil {
		return err
	}
	s.trillian = servers.Loopback(free[0])
	storage := []string{"--quota_system=noop", "--storage_system=postgresql", "--postgresql_uri=" + s.database.uri(), "--logtostderr"}
	if err := s.Run(ctx, servers.Command{Program: "trillian_log_server",
		Args: append(storage[:len(storage):len(storage)], "--rpc_endpoint="+s.trillian, "--http_endpoint="+servers.Loopback(free[1]))}); err != nil {
		return err
	}
	if err := s.Run(ctx, servers.Command{Program: "trillian_log_signer",
		Args: append(storage[:len(storage):len(storage)], "--rpc_endpoint="+servers.Loopback(free[2]), "--http_endpoint="+servers.Loopback(free[3]),
			"--force_master", "--sequencer_interval=50ms")}); err != nil {
		return err
	}
	return s.Answers(within, "http://"+servers.Loopback(free[1])+"/healthz", nil)
}

// createTree returns the id of a new tree.
func (s *Sigstore) createTree(within context.Context) (string, error) {
	out, err := s.Output(within, servers.Command{Program: "createtree", Args: []string{"--admin_server=" + s.trillian}})
	if err != nil {
		return "", fmt.Errorf("create a tree: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
