package main

import (
	"crypto/tls"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/polex-dev/polex/cmd/internal/cli"
)

// certificates serves with the files' certificate, and with the new one once they
// change.
func (g *guarding) certificates() ([]func(*tls.Config), error) {
	watcher, err := certwatcher.New(g.flags.TLSCert, g.flags.TLSKey)
	if err != nil {
		return nil, &cli.UsageError{Err: fmt.Errorf("--tls-cert, --tls-key: %w", err)}
	}
	if err := g.manager.Add(watcher); err != nil {
		return nil, err
	}
	return []func(*tls.Config){func(c *tls.Config) {
		c.MinVersion = tls.VersionTLS12
		c.GetCertificate = watcher.GetCertificate
	}}, nil
}
