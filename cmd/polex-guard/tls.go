package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"path/filepath"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/polex-dev/polex/cmd/internal/cli"
)

// withCertificate takes the certificate from the watcher, which the server is
// given before there is one.
func (g *guarding) withCertificate(c *tls.Config) {
	c.MinVersion = tls.VersionTLS12
	c.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		return g.watcher.GetCertificate(hello)
	}
}

// addServer starts the server with the manager or, where the guard makes its
// certificate itself, once there is one.
func (g *guarding) addServer(server webhook.Server) error {
	if g.flags.SelfManaged == "" {
		if err := g.serveBy(server); err != nil {
			return &cli.UsageError{Err: fmt.Errorf("--tls-cert, --tls-key: %w", err)}
		}
		return nil
	}
	ready, err := g.certifyItself()
	if err != nil {
		return err
	}
	return g.manager.Add(manager.RunnableFunc(func(ctx context.Context) error {
		select {
		case <-ready:
			return g.serveBy(server)
		case <-ctx.Done():
			return nil
		}
	}))
}

// serveBy serves with the files' certificate, and with the new one once they
// change.
func (g *guarding) serveBy(server webhook.Server) error {
	var err error
	if g.watcher, err = certwatcher.New(g.flags.TLSCert, g.flags.TLSKey); err != nil {
		return err
	}
	g.watcher.RegisterCallback(func(c tls.Certificate) {
		if c.Leaf != nil {
			g.metrics.CertifiedUntil(c.Leaf.NotAfter)
		}
	})
	if err := g.manager.Add(g.watcher); err != nil {
		return err
	}
	return g.manager.Add(server)
}

// certifyItself keeps a certificate in the Secret, and who certified it in the
// webhook's caBundle. It closes ready once the Secret lies where it is mounted.
func (g *guarding) certifyItself() (ready chan struct{}, err error) {
	ready = make(chan struct{})
	name := g.flags.DNSName
	if name == "" {
		name = "polex-guard." + g.flags.Namespace + ".svc"
	}
	return ready, rotator.AddRotator(g.manager, &rotator.CertRotator{
		SecretKey: types.NamespacedName{Namespace: g.flags.Namespace, Name: g.flags.SelfManaged},
		CertDir:   filepath.Dir(g.flags.TLSCert), CertName: filepath.Base(g.flags.TLSCert), KeyName: filepath.Base(g.flags.TLSKey),
		CAName: "polex-guard", CAOrganization: "polex", DNSName: name, IsReady: ready, FieldOwner: "polex-guard",
		Webhooks: []rotator.WebhookInfo{{Name: g.flags.WebhookName, Type: rotator.Validating}},
	})
}
