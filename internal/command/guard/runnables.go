package guard

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/guard/cluster"
	"github.com/polex-dev/polex/internal/guard/server"
	"github.com/polex-dev/polex/pkg/exception"
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

// leaseName is the name of the Lease for leader election.
const leaseName = "polex-guard"

// addController sets up the watches, which every replica runs, and the controller, which only the
// leader runs.
func (g *process) addController(ctx context.Context) error {
	api, err := cluster.NewAPI(g.rest, g.manager.GetHTTPClient())
	if err != nil {
		return err
	}
	g.api = api
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	g.teller = &cluster.Teller{
		Log: g.log, Events: cluster.NewEvents(api, host, g.log), Reports: &cluster.Reports{API: api},
	}
	failed := func(err error) { g.teller.Failed(ctx, "watch", err) }
	g.store = cluster.NewStore(ctx, api, failed)
	g.store.Watching = func(kind exception.GroupKind, yes bool) { g.metrics.Watching(kind, "objects", yes) }
	g.pod = &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: g.flags.Namespace, Name: host}
	lease := cluster.Lease{Namespace: g.flags.Namespace, Name: leaseName, Identity: cluster.NewIdentity(host)}
	controller := &guard.Controller{
		Store: g.store, Rules: g.rules, Cluster: g.flags.Cluster, Clock: g.clock, Tell: g.teller, Metrics: g.metrics,
		Every: g.flags.RecheckInterval, Enforce: g.flags.EnforceExisting,
		Definitions: &guard.Definitions{},
	}
	if err := g.manager.Add(manager.RunnableFunc(g.teller.Events.Run)); err != nil {
		return err
	}
	return g.manager.Add(manager.RunnableFunc(func(ctx context.Context) error {
		// Every replica watches: the counts of exceptions are needed for limits, and a new leader
		// must start quickly.
		go g.store.Watch(func() []exception.GroupKind { return g.rules.Rules().Kinds() })
		go g.definitions(api, controller.Definitions, failed).Run(ctx)
		return cluster.Lead(ctx, g.rest, lease, func(ctx context.Context) {
			g.log.Info("holds the lease")
			g.metrics.Leads(true)
			defer g.metrics.Leads(false)
			g.teller.Reports = &cluster.Reports{API: api} // another leader may have written reports
			g.store.Notify(controller.Touch, controller.Renew, g.teller.Deleted)
			defer g.store.Notify(nil, nil, nil)
			_ = controller.Run(ctx)
		})
	}))
}

// definitions watches the definitions of exceptions, and reports their changes.
func (g *process) definitions(
	api *cluster.API, known *guard.Definitions, failed func(error),
) *cluster.Definitions {
	return &cluster.Definitions{
		API: api, Known: known, Failed: failed,
		Changed: func(kind exception.GroupKind, before, state string) {
			g.metrics.DefinitionState(kind, state)
			if before == "" { // it may have changed while no guard ran
				g.log.Info("definition", "name", cluster.DefinitionName(kind.Group), "state", state)
				return
			}
			g.metrics.DefinitionChanged(kind)
			g.teller.DefinitionChanged(kind, state)
		},
		Watching: func(kind exception.GroupKind, yes bool) { g.metrics.Watching(kind, "definition", yes) },
	}
}
