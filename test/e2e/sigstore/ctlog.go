package sigstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// startCTLog runs a CT log for Fulcio's certificates.
func (s *Sigstore) startCTLog(ctx, within context.Context) error {
	tree, err := s.createTree(within)
	if err != nil {
		return err
	}
	key, err := s.ctLog.der()
	if err != nil {
		return err
	}
	var escaped strings.Builder
	for _, b := range key {
		fmt.Fprintf(&escaped, `\%03o`, b)
	}
	const prefix = "test"
	config := fmt.Sprintf(`config {
  log_id: %s
  prefix: %q
  roots_pem_file: %q
  private_key: { [type.googleapis.com/keyspb.PrivateKey] { der: "%s" } }
  max_merge_delay_sec: 86400
  expected_merge_delay_sec: 120
}
`, tree, prefix, s.FulcioChainPath, escaped.String())
	if err := s.write("ctlog.cfg", []byte(config)); err != nil {
		return err
	}
	free, err := servers.FreePorts(1)
	if err != nil {
		return err
	}
	s.CTLogURL = "http://" + servers.Loopback(free[0]) + "/" + prefix
	if err := s.Run(ctx, servers.Command{Program: "ct_server",
		Args: []string{"--log_config=" + s.at("ctlog.cfg"), "--log_rpc_server=" + s.trillian, "--http_endpoint=" + servers.Loopback(free[0]), "--logtostderr"}}); err != nil {
		return err
	}
	return s.Answers(within, s.CTLogURL+"/ct/v1/get-sth", nil)
}
