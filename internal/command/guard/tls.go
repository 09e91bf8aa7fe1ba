package guard

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/guard/server"
)

// addServer starts the server at once or, with a self-managed certificate, when the certificate
// exists.
func (g *process) addServer(answers http.Handler) error {
	if g.flags.SelfManaged == "" {
		return g.serveBy(context.Background(), answers)
	}
	ready, err := g.certifyItself()
	if err != nil {
		return err
	}
	return g.manager.Add(manager.RunnableFunc(func(ctx context.Context) error {
		select {
		case <-ready:
			return g.serveBy(ctx, answers)
		case <-ctx.Done():
			return nil
		}
	}))
}

// serveBy serves with the certificate in the files, and reloads it when the files change.
func (g *process) serveBy(ctx context.Context, answers http.Handler) error {
	watcher, err := certwatcher.New(g.flags.TLSCert, g.flags.TLSKey)
	if err != nil {
		return &cli.UsageError{Err: fmt.Errorf("--tls-cert, --tls-key: %w", err)}
	}
	watcher.RegisterCallback(func(c tls.Certificate) {
		g.metrics.CertifiedUntil("tls-cert", firstExpiry(c.Certificate))
	})
	if err := g.manager.Add(watcher); err != nil {
		return err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: watcher.GetCertificate}
	serving, err := server.Listen(ctx, server.Config{
		Address: g.flags.WebhookAddress, Handler: answers, TLS: config, Deadline: guard.DefaultDeadline, Log: g.log,
	})
	if err != nil {
		return &cli.UsageError{Err: fmt.Errorf("--webhook-address: %w", err)}
	}
	return g.manager.Add(serving)
}

// firstExpiry returns the earliest expiry of a chain. With the CA in it, the metric also warns of the
// expiry of a CA that people renew.
func firstExpiry(chain [][]byte) (ends time.Time) {
	for _, der := range chain {
		cert, err := x509.ParseCertificate(der)
		if err == nil && (ends.IsZero() || cert.NotAfter.Before(ends)) {
			ends = cert.NotAfter
		}
	}
	return ends
}

// certifyItself keeps a certificate in the Secret, and its CA in the caBundle of the webhook. It
// closes ready when the Secret is mounted.
func (g *process) certifyItself() (ready chan struct{}, err error) {
	ready = make(chan struct{})
	name := cmp.Or(g.flags.DNSName, "polex-guard."+g.flags.Namespace+".svc")
	return ready, rotator.AddRotator(g.manager, &rotator.CertRotator{
		SecretKey: types.NamespacedName{Namespace: g.flags.Namespace, Name: g.flags.SelfManaged},
		CertDir:   filepath.Dir(g.flags.TLSCert),
		CertName:  filepath.Base(g.flags.TLSCert), KeyName: filepath.Base(g.flags.TLSKey),
		CAName: "polex-guard", CAOrganization: "polex", DNSName: name, IsReady: ready, FieldOwner: "polex-guard",
		Webhooks: []rotator.WebhookInfo{{Name: webhookName, Type: rotator.Validating}},
	})
}
