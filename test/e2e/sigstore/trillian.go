package sigstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// startTrillian runs the trees below Rekor 1 and the certificate log.
func (s *Sigstore) startTrillian(ctx, within context.Context) error {
	free, err := servers.FreePorts(4)
	if err != nil {
		return err
	}
	s.trillian = loopback(free[0])
	storage := []string{"--quota_system=noop", "--storage_system=postgresql", "--postgresql_uri=" + s.database.uri(), "--logtostderr"}
	if err := s.group.Run(ctx, servers.Command{Program: "trillian_log_server",
		Args: append(storage[:len(storage):len(storage)], "--rpc_endpoint="+s.trillian, "--http_endpoint="+loopback(free[1]))}); err != nil {
		return err
	}
	if err := s.group.Run(ctx, servers.Command{Program: "trillian_log_signer",
		Args: append(storage[:len(storage):len(storage)], "--rpc_endpoint="+loopback(free[2]), "--http_endpoint="+loopback(free[3]),
			"--force_master", "--sequencer_interval=50ms")}); err != nil {
		return err
	}
	return s.answers(within, "http://"+loopback(free[1])+"/healthz", anything)
}

// createTree returns the id of a new tree.
func (s *Sigstore) createTree(within context.Context) (string, error) {
	out, err := s.group.Output(within, servers.Command{Program: "createtree", Args: []string{"--admin_server=" + s.trillian}})
	if err != nil {
		return "", fmt.Errorf("create a tree: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
