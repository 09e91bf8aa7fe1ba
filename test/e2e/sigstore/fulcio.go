package sigstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// startFulcio runs the certificate authority.
func (s *Sigstore) startFulcio(ctx, within context.Context) error {
	config, err := s.fulcioConfig(within)
	if err != nil {
		return err
	}
	if err := s.write("fulcio.yaml", config); err != nil {
		return err
	}
	free, err := servers.FreePorts(3)
	if err != nil {
		return err
	}
	s.FulcioURL = "http://" + servers.Loopback(free[0])
	// Only its metrics cannot be restricted to loopback.
	if err := s.Run(ctx, servers.Command{Program: "fulcio", Args: []string{
		"serve", "--host=127.0.0.1", "--port=" + strconv.Itoa(free[0]), "--grpc-host=127.0.0.1", "--grpc-port=" + strconv.Itoa(free[1]),
		"--metrics-port=" + strconv.Itoa(free[2]), "--legacy-unix-domain-socket=@polex-" + rand.Text(),
		"--ca=fileca", "--fileca-cert=" + s.FulcioChainPath, "--fileca-key=" + s.at(fulcioKeyFile), "--fileca-watch=false",
		"--fileca-key-passwd=none", // must be set; the key is not encrypted
		"--ct-log-url=" + s.CTLogURL, "--ct-log-public-key-path=" + s.CTLogKeyPath, "--config-path=" + s.at("fulcio.yaml"),
	}}); err != nil {
		return err
	}
	return s.Answers(within, s.FulcioURL+"/api/v1/rootCert", nil)
}

// fulcioConfig returns the public instance's configuration with issuers on loopback. The rules that
// convert a token into a certificate stay.
func (s *Sigstore) fulcioConfig(within context.Context) ([]byte, error) {
	source, err := servers.Source(within, s.options.Tools, "github.com/sigstore/fulcio")
	if err != nil {
		return nil, err
	}
	public, err := os.ReadFile(filepath.Join(source, "config", "identity", "config.yaml"))
	if err != nil {
		return nil, err
	}
	before, _, found := bytes.Cut(public, []byte("\noidc-issuers:\n"))
	_, after, ended := bytes.Cut(public, []byte("\nci-issuer-metadata:\n"))
	if !found || !ended {
		return nil, fmt.Errorf("the configuration of Fulcio has other sections than expected:\n%s", public)
	}
	var issuers strings.Builder
	for _, issuer := range s.options.Workflows {
		fmt.Fprintf(&issuers, "  %[1]s:\n    issuer-url: %[1]s\n    client-id: sigstore\n    type: ci-provider\n    ci-provider: *github-type\n", issuer)
	}
	if people := s.options.People; people != "" {
		fmt.Fprintf(&issuers, "  %[1]s:\n    issuer-url: %[1]s\n    client-id: sigstore\n    type: email\n", people)
	}
	return bytes.Join([][]byte{before, []byte("oidc-issuers:\n" + issuers.String() + "ci-issuer-metadata:"), after}, []byte("\n")), nil
}
