// Package guard is the command polex-guard: the admission webhook, and a check of its installation.
package guard

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
)

// clusterFlags are the flags for the connection to the API server.
type clusterFlags struct{ Kubeconfig string }

func (f *clusterFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Kubeconfig, "kubeconfig", "", "kubeconfig `file` (default: the Pod's ServiceAccount)")
}

func addNamespace(cmd *cobra.Command, namespace *string) {
	cmd.Flags().StringVarP(namespace, "namespace", "n", "",
		"namespace of the guard and its Lease (default: that of the Pod)")
}

// The rate limits for requests to the API server: average per second, and burst. They do not apply
// to requests about stored exceptions: thousands can expire in the same second, and internal/guard
// limits the concurrent deletions.
const (
	perSecond = 100
	atOnce    = 200
)

// restConfig returns the connection to the API server, and the kubeconfig, which is nil in a Pod:
// client-go itself reads the token and the CA of the Pod again.
func (f *clusterFlags) restConfig(now time.Time) (*rest.Config, *kubeconfig, error) {
	if f.Kubeconfig != "" {
		k := &kubeconfig{file: f.Kubeconfig}
		err := k.load(now)
		return &rest.Config{Host: k.server, Transport: k, QPS: perSecond, Burst: atOnce}, k, err
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, nil, &cli.UsageError{Err: err, Hint: "outside of a Pod, add --kubeconfig FILE"}
	}
	config.QPS, config.Burst = perSecond, atOnce
	config.DisableCompression = true // signatures are compressed already, and the API server is near
	return config, nil, nil
}

// webhookName is the name of the ValidatingWebhookConfiguration in the manifests.
const webhookName = "polex-guard"

// reloadInterval is the time between two reads of the configuration and of a kubeconfig.
const reloadInterval = 5 * time.Second

// serveFlags are the flags of serve.
type serveFlags struct {
	cluster clusterFlags

	Config    string
	Cluster   string
	Namespace string

	TLSCert, TLSKey string
	SelfManaged     string
	DNSName         string

	WebhookAddress, MetricsAddress, HealthAddress, PprofAddress string

	ShutdownDelay   time.Duration
	RecheckInterval time.Duration
	EnforceExisting bool
}

func (f *serveFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.cluster.add(cmd)
	flags.StringVar(&f.Config, "config", "",
		"configuration `file`: the sections trust and guard, or a trust policy (required)")
	flags.StringVar(&f.Cluster, "cluster-name", "",
		"name of this cluster, for exceptions with the annotation "+exception.AnnotationCluster)
	addNamespace(cmd, &f.Namespace)
	flags.DurationVar(&f.RecheckInterval, "recheck-interval", 10*time.Minute,
		"`duration` between checks of all stored exceptions")
	flags.BoolVar(&f.EnforceExisting, "enforce-existing", false,
		"delete stored exceptions that are invalid for a whole --recheck-interval")
	flags.StringVar(&f.TLSCert, "tls-cert", "", "PEM `file` with the certificate and chain of the webhook (required)")
	flags.StringVar(&f.TLSKey, "tls-key", "", "PEM `file` with the key of that certificate (required)")
	flags.StringVar(&f.SelfManaged, "self-managed-certificate", "",
		"name of the mounted Secret in which the guard keeps its own certificate")
	flags.StringVar(&f.DNSName, "dns-name", "", "DNS name in that certificate (default: polex-guard.NAMESPACE.svc)")
	flags.StringVar(&f.WebhookAddress, "webhook-address", ":9443", "`address` of the webhook")
	flags.StringVar(&f.MetricsAddress, "metrics-address", ":8080", "`address` of /metrics; \"\" for none")
	flags.StringVar(&f.HealthAddress, "health-address", ":8081", "`address` of /healthz and /readyz; \"\" for none")
	cli.MayBeEmpty(flags, "metrics-address", "health-address")
	flags.StringVar(&f.PprofAddress, "pprof-address", "", "loopback `address` of /debug/pprof (default: none)")
	flags.DurationVar(&f.ShutdownDelay, "shutdown-delay", 5*time.Second, "`duration` to keep answering after SIGTERM")
}

func (f *serveFlags) check() error {
	switch {
	case f.Config == "":
		return errNoConfig
	case f.TLSCert == "" || f.TLSKey == "":
		return &cli.UsageError{
			Err:  errors.New("missing required flags: --tls-cert, --tls-key"),
			Hint: "name the PEM files of the webhook's certificate and key",
		}
	case f.RecheckInterval <= 0:
		return cli.Usagef("--recheck-interval %s is not positive", f.RecheckInterval)
	case f.ShutdownDelay < 0:
		return cli.Usagef("--shutdown-delay must not be negative")
	case !isAddress(f.WebhookAddress):
		return cli.Usagef("--webhook-address: %q is not an address: write it like :9443 or 127.0.0.1:9443",
			f.WebhookAddress)
	case f.PprofAddress != "" && !isLoopback(f.PprofAddress):
		return &cli.UsageError{
			Err:  errors.New("--pprof-address must be a loopback address, as it shows the memory of the process"),
			Hint: "use 127.0.0.1:6060, and kubectl port-forward",
		}
	}
	var err error
	f.Namespace, err = namespaceOf(f.Namespace)
	return err
}

// errNoConfig is the error where no configuration is named.
var errNoConfig = &cli.UsageError{Err: errors.New("missing required flag: --config"), Hint: "add --config FILE"}

// namespaceOf returns the given namespace, or the namespace of the Pod.
func namespaceOf(given string) (string, error) {
	const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
	if given != "" {
		return given, nil
	}
	text, err := os.ReadFile(podNamespace)
	if err != nil {
		const hint = "outside of a Pod, add --namespace polex-system"
		return "", &cli.UsageError{Err: errors.New("missing --namespace"), Hint: hint}
	}
	return strings.TrimSpace(string(text)), nil
}

func isAddress(address string) bool {
	_, port, err := net.SplitHostPort(address)
	number, notNumber := strconv.ParseUint(port, 10, 16)
	return err == nil && notNumber == nil && number > 0
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	return net.ParseIP(host).IsLoopback()
}

const help = `Guard a cluster: reject PolicyExceptions that are unsigned, modified or expired, and
delete exceptions at their expiry.`

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "polex-guard COMMAND",
		Short:                 "Reject exceptions in a cluster that are unsigned, modified or expired",
		Long:                  help,
		Args:                  cli.UnknownCommand,
		DisableFlagsInUseLine: true,
		RunE: func(*cobra.Command, []string) error {
			const hint = "run polex-guard serve --help or polex-guard check --help"
			return &cli.UsageError{Err: errNoSubcommand, Hint: hint}
		},
	}
	cli.Serves(cmd)
	cmd.AddCommand(newServeCommand(streams), newCheckCommand(streams))
	return cmd
}
