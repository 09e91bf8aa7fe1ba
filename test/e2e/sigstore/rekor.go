package sigstore

import (
	"context"
	"net"
	"os"
	"strconv"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// startRekor runs Rekor v1 and its search index.
func (s *Sigstore) startRekor(ctx, within context.Context) error {
	free, err := servers.FreePorts(2)
	if err != nil {
		return err
	}
	if err := s.Run(ctx, servers.Command{Program: "index", Args: []string{servers.Loopback(free[1])}}); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(s.trillian)
	if err != nil {
		return err
	}
	// Rekor serves metrics on a fixed port of every interface, and runs without them if the port is
	// taken.
	var listen net.ListenConfig
	if taken, err := listen.Listen(ctx, "tcp", "127.0.0.1:2112"); err == nil {
		s.taken = taken
	}
	s.RekorURL = "http://" + servers.Loopback(free[0])
	if err := s.Run(ctx, servers.Command{Program: "rekor-server", Args: []string{
		"serve", "--trillian_log_server.address=" + host, "--trillian_log_server.port=" + port,
		"--rekor_server.address=127.0.0.1", "--port=" + strconv.Itoa(free[0]), "--rekor_server.signer=" + s.at(rekorKeyFile),
		"--search_index.storage_provider=redis", "--redis_server.address=127.0.0.1", "--redis_server.port=" + strconv.Itoa(free[1]),
	}}); err != nil {
		return err
	}
	return s.Answers(within, s.RekorURL+"/api/v1/log", nil)
}

// startRekorV2 runs Rekor v2, on files.
func (s *Sigstore) startRekorV2(ctx, within context.Context) error {
	free, err := servers.FreePorts(3)
	if err != nil {
		return err
	}
	if err := os.Mkdir(s.at("tiles"), 0o700); err != nil {
		return err
	}
	s.RekorV2URL = "http://" + servers.Loopback(free[0])
	if err := s.Run(ctx, servers.Command{Program: "rekor-tiles", Args: []string{
		"serve", "--http-address=127.0.0.1", "--http-port=" + strconv.Itoa(free[0]), "--grpc-address=127.0.0.1", "--grpc-port=" + strconv.Itoa(free[1]),
		"--http-metrics-port=" + strconv.Itoa(free[2]), "--storage-dir=" + s.at("tiles"), "--signer-filepath=" + s.at(rekorV2KeyFile),
		// Clients derive the origin of its checkpoints from the address in the trusted root.
		"--hostname=127.0.0.1",
		// It answers when the checkpoint has the entry.
		"--checkpoint-interval=200ms", "--batch-max-age=50ms",
	}}); err != nil {
		return err
	}
	return s.Answers(within, s.RekorV2URL+"/healthz", nil)
}

// startTimestamps runs the timestamp authority, which makes its own chain.
func (s *Sigstore) startTimestamps(ctx, within context.Context) error {
	free, err := servers.FreePorts(1)
	if err != nil {
		return err
	}
	base := "http://" + servers.Loopback(free[0])
	s.TimestampURL = base + "/api/v1/timestamp"
	if err := s.Run(ctx, servers.Command{Program: "timestamps", Args: []string{servers.Loopback(free[0])}}); err != nil {
		return err
	}
	return s.Answers(within, s.TimestampURL+"/certchain", func(chain []byte) error { return s.write(timestampChainFile, chain) })
}
