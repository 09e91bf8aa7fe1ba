package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/guard/cluster"
	"github.com/polex-dev/polex/internal/guard/doctor"
	"github.com/polex-dev/polex/internal/guard/server"
)

const serveHelp = `Answer the admission reviews of a cluster, check stored exceptions again, and delete
expired ones.

The trusted signers come from --config alone. polex-guard reads the file and the files
it names again after changes; it rejects an invalid configuration and keeps the old one. It
fetches nothing.

With --enforce-existing, it also deletes stored exceptions that are invalid.

Several replicas can run. All answer reviews; the one with the Lease writes events and
reports, and deletes.`

const serveExample = `  polex-guard serve --config /etc/polex/config.yaml --cluster-name prod \
    --tls-cert /tls/tls.crt --tls-key /tls/tls.key`

// The paths for admission reviews, and for reviews of deletions.
const (
	admitPath   = "/admit"
	deletedPath = doctor.DeletedPath
)

func newServeCommand(streams cli.Streams) *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:                   "serve --config FILE --tls-cert FILE --tls-key FILE",
		Short:                 "Answer admission reviews, check stored exceptions again, delete expired ones",
		Long:                  serveHelp,
		Example:               serveExample,
		Args:                  cli.UnknownCommand,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.check(); err != nil {
				return err
			}
			log := slog.New(slog.NewJSONHandler(streams.Err, nil))
			return serve(cmd.Context(), &flags, log)
		},
	}
	flags.add(cmd)
	return cmd
}

// serve runs the guard until the context ends.
func serve(ctx context.Context, flags *serveFlags, log *slog.Logger) error {
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, err := newGuard(running, flags, log)
	if err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		close(g.draining) // not ready: the API server switches to other replicas in the delay
		<-g.clock.After(flags.ShutdownDelay)
		stop()
	}()
	return g.manager.Start(running)
}

// process is a configured guard that is not started yet.
type process struct {
	flags   *serveFlags
	log     *slog.Logger
	clock   clock.WithTicker
	rest    *rest.Config
	manager manager.Manager
	rules   *guard.Current
	metrics *guard.Metrics
	api     *cluster.API
	store   *cluster.Store
	teller  *cluster.Teller
	pod     *corev1.ObjectReference // for Events about the guard itself

	draining chan struct{} // closed when the process must shut down
}

func newGuard(ctx context.Context, flags *serveFlags, log *slog.Logger) (*process, error) {
	g := &process{
		flags: flags, log: log, clock: clock.RealClock{}, rules: &guard.Current{}, draining: make(chan struct{}),
	}
	var err error
	g.metrics = guard.NewMetrics(ctrlmetrics.Registry, g.clock.Now)
	if err := g.readConfig(); err != nil { // before anything that needs the API server
		return nil, asUsage(err)
	}
	var credentials *kubeconfig
	if g.rest, credentials, err = flags.cluster.restConfig(g.clock.Now()); err != nil {
		return nil, err
	}
	if g.manager, err = ctrl.NewManager(g.rest, g.managerOptions()); err != nil {
		return nil, fmt.Errorf("set up: %w", err)
	}
	if err := g.reload("config", g.readConfig); err != nil {
		return nil, err
	}
	if credentials != nil {
		err = g.reload("kubeconfig", func() error {
			defer func() { g.metrics.CertifiedUntil("kubeconfig", credentials.expires) }()
			return credentials.load(g.clock.Now())
		})
	}
	if err != nil {
		return nil, err
	}
	if err := g.addController(ctx); err != nil {
		return nil, err
	}
	handler, err := guard.NewHandler(guard.Config{
		Rules: g.rules, Cluster: flags.Cluster, Now: g.clock.Now, Count: g.store.Count,
		Observe: func(d *guard.Decision, took time.Duration) {
			g.metrics.Decided(d, took)
			guard.LogDecision(g.log, d, took)
		},
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(admitPath, handler)
	mux.HandleFunc(deletedPath, handler.ServeDeletion)
	if err := g.addServer(g.parting(mux)); err != nil {
		return nil, err
	}
	return g, g.addProbes()
}

func (g *process) managerOptions() ctrl.Options {
	const off = "0" // of controller-runtime
	return ctrl.Options{
		Cache:                  cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Logger:                 logr.FromSlogHandler(g.log.Handler()),
		Metrics:                metricsserver.Options{BindAddress: cmp.Or(g.flags.MetricsAddress, off)},
		HealthProbeBindAddress: cmp.Or(g.flags.HealthAddress, off),
		PprofBindAddress:       cmp.Or(g.flags.PprofAddress, off),
	}
}

// reload reads the file of a flag now, and then at the interval.
func (g *process) reload(flag string, read func() error) error {
	r := &guard.Reloader{
		Flag: flag, Read: read, Refused: g.refusedConfiguration,
		Every: reloadInterval, Metrics: g.metrics,
	}
	if err := r.Once(); err != nil {
		return asUsage(err)
	}
	return g.manager.Add(manager.RunnableFunc(r.Run))
}

// readConfig reads the configuration and uses its rules.
func (g *process) readConfig() error {
	rules, err := g.rules.Update(loader(g.flags.Config, g.flags.Namespace))
	if rules != nil {
		g.metrics.Reloaded(g.clock.Now())
		g.log.Info("configuration", "digest", rules.Digest())
	}
	return err
}

// refusedConfiguration reports an invalid configuration. During the start there is no reporter yet,
// and the command ends with the error.
func (g *process) refusedConfiguration(err error) {
	if g.teller == nil {
		return
	}
	g.log.Error("the configuration is invalid, and the old one stays in use", "error", err.Error())
	g.teller.ConfigurationRefused(g.pod, err)
}

// addProbes adds the probes. The process is alive if it answers. It is ready if its webhook answers, if
// it reaches the API server and is not shutting down.
func (g *process) addProbes() error {
	return errors.Join(
		g.manager.AddHealthzCheck("ping", healthz.Ping),
		g.manager.AddReadyzCheck("webhook", func(r *http.Request) error {
			return server.Answers(r.Context(), g.flags.WebhookAddress)
		}),
		g.manager.AddReadyzCheck("draining", func(*http.Request) error {
			select {
			case <-g.draining:
				return errors.New("received a signal to stop")
			default:
				return nil
			}
		}),
		g.manager.AddReadyzCheck("api-server", func(r *http.Request) error { return g.api.Answers(r.Context()) }),
	)
}

// parting closes each connection after its next response during the shutdown. Otherwise a request
// on a closing connection would get no response, and the API server would reject it.
func (g *process) parting(answer http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-g.draining:
			w.Header().Set("Connection", "close")
		default:
		}
		answer.ServeHTTP(w, r)
	})
}

func asUsage(err error) error {
	var usage *cli.UsageError
	if errors.As(err, &usage) {
		return err
	}
	return &cli.UsageError{Err: err}
}
