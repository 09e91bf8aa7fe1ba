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
	"k8s.io/client-go/tools/clientcmd"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/guard"
)

// clusterFlags are the flags for the connection to the API server.
type clusterFlags struct{ Kubeconfig string }

func (f *clusterFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Kubeconfig, "kubeconfig", "", "`file` that says how to reach the API server (default: as a Pod does)")
}

// The rate limits for requests to the API server: average per second, and burst. They do not apply
// to requests about stored exceptions: thousands can expire in the same second, and internal/guard
// limits the concurrent deletions.
const (
	perSecond = 100
	atOnce    = 200
)

func (f *clusterFlags) restConfig() (*rest.Config, error) {
	config, err := f.reach()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = perSecond, atOnce
	config.DisableCompression = true // signatures are compressed already, and the API server is near
	return config, nil
}

func (f *clusterFlags) reach() (*rest.Config, error) {
	if f.Kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, &cli.UsageError{Err: err, Hint: "outside of a Pod, name a file with --kubeconfig"}
		}
		return config, nil
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: f.Kubeconfig}, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	return config, nil
}

// defaultWebhook is the name of the webhook configuration in the manifests.
const defaultWebhook = "polex-guard"

// serveFlags are the flags of serve.
type serveFlags struct {
	cluster clusterFlags

	Config    string
	Cluster   string
	Namespace string

	TLSCert, TLSKey string
	SelfManaged     string
	DNSName         string
	WebhookName     string

	ClientCA    string
	ClientNames []string

	WebhookAddress, MetricsAddress, HealthAddress, PprofAddress string

	Deadline       time.Duration
	Concurrent     int
	ReloadInterval time.Duration
	ShutdownDelay  time.Duration

	Git         string
	GitRevision string
	GitPaths    []string

	RecheckInterval time.Duration
	EnforceExisting bool

	given func(flag string) bool
}

func (f *serveFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.cluster.add(cmd)
	flags.StringVar(&f.Config, "config", "", "`file` with the configuration: the sections trust and guard, or a trust policy")
	flags.StringVar(&f.Cluster, "cluster", "", "`name` of this cluster, which an exception with the annotation "+guard.AnnotationCluster+" has to name")
	flags.StringVar(&f.Namespace, "namespace", "", "`namespace` of the Lease that several guards take turns by (default: that of the Pod)")
	flags.DurationVar(&f.RecheckInterval, "recheck-interval", 10*time.Minute, "how `often` everything that is stored is looked at again")
	flags.BoolVar(&f.EnforceExisting, "enforce-existing", false, "delete exceptions that would be refused, once they have been for a whole --recheck-interval")
	flags.StringVar(&f.Git, "git", "", "`folder` of a Git repository that is kept up to date, with or without a work tree: exceptions that a commit of it does not hold are unknown-to-git")
	flags.StringVar(&f.GitRevision, "git-ref", "HEAD", "with --git, the `commit`: HEAD, a branch, a tag or a whole hash; looked at every --reload-interval")
	flags.StringArrayVar(&f.GitPaths, "git-path", []string{"signed"}, "with --git, a `file` or folder in the commit, or . for all of it; can be repeated")
	flags.StringVar(&f.TLSCert, "tls-cert", "", "`file` with the certificate of the webhook and its chain, in PEM; taken up when it changes")
	flags.StringVar(&f.TLSKey, "tls-key", "", "`file` with its key")
	flags.StringVar(&f.SelfManaged, "self-managed-certificate", "", "`name` of a Secret that is mounted where --tls-cert and --tls-key are, and that the guard keeps a certificate of its own in")
	flags.StringVar(&f.DNSName, "dns-name", "", "`name` in that certificate (default: polex-guard.NAMESPACE.svc)")
	flags.StringVar(&f.WebhookName, "webhook-name", defaultWebhook, "`name` of the ValidatingWebhookConfiguration whose caBundle the guard keeps")
	flags.StringVar(&f.ClientCA, "client-ca", "", "`file` with the authorities, in PEM, that sign the API server's client certificate: "+admitPath+" and "+deletedPath+" then answer nobody without one; taken up when it changes")
	flags.StringArrayVar(&f.ClientNames, "client-name", nil, "with --client-ca, the common `name` that the client certificate has to have; can be repeated (default: any)")
	flags.StringVar(&f.WebhookAddress, "webhook-address", ":9443", "`address` that answers admission reviews, at "+admitPath+" and "+deletedPath+", and questions, at "+verifyPath)
	flags.StringVar(&f.MetricsAddress, "metrics-address", ":8080", "`address` of /metrics; \"\" for none")
	flags.StringVar(&f.HealthAddress, "health-address", ":8081", "`address` of /healthz and /readyz; \"\" for none")
	cli.MayBeEmpty(flags, "metrics-address", "health-address")
	flags.StringVar(&f.PprofAddress, "pprof-address", "", "loopback `address` of /debug/pprof (default: none)")
	flags.DurationVar(&f.Deadline, "deadline", guard.DefaultDeadline, "how `long` a request may take; less than the webhook's timeoutSeconds")
	flags.IntVar(&f.Concurrent, "concurrent", guard.DefaultConcurrent, "how `many` requests are judged at once, and how many large ones are read, which bounds the memory")
	flags.DurationVar(&f.ReloadInterval, "reload-interval", 5*time.Second, "how `often` the configuration's files are looked at")
	flags.DurationVar(&f.ShutdownDelay, "shutdown-delay", 5*time.Second, "how `long` to go on answering when told to end, so that nobody asks any more")
}

func (f *serveFlags) check() error {
	switch {
	case f.Config == "":
		return errNoConfig
	case f.TLSCert == "" || f.TLSKey == "":
		return &cli.UsageError{Err: errors.New("there is no certificate to serve with"), Hint: "name its files with --tls-cert and --tls-key"}
	case f.RecheckInterval <= 0:
		return cli.Usagef("--recheck-interval is more than nothing")
	case f.Deadline <= 0 || f.Concurrent <= 0 || f.ReloadInterval <= 0 || f.ShutdownDelay < 0:
		return cli.Usagef("--deadline, --concurrent and --reload-interval are more than nothing, and --shutdown-delay is not negative")
	case f.ClientCA == "" && (f.given("client-ca") || f.given("client-name")):
		return &cli.UsageError{Err: errors.New("--client-ca names no file, and --client-name says which of its certificates count"), Hint: "name the file with --client-ca"}
	case !isAddress(f.WebhookAddress):
		return cli.Usagef("--webhook-address: %q is not an address: write it like :9443 or 127.0.0.1:9443", f.WebhookAddress)
	case f.PprofAddress != "" && !isLoopback(f.PprofAddress):
		return &cli.UsageError{Err: errors.New("--pprof-address: it shows the process's memory, and is for loopback alone"), Hint: "write it like 127.0.0.1:6060, and forward the port"}
	}
	if err := f.checkGit(); err != nil {
		return err
	}
	var err error
	f.Namespace, err = namespaceOf(f.Namespace)
	return err
}

// errNoConfig is the error for a missing --config.
var errNoConfig = &cli.UsageError{Err: errors.New("missing required flag: --config"), Hint: "name a configuration with --config FILE"}

// podNamespace is the file with the namespace of the Pod.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// namespaceOf returns the given namespace, or the namespace of the Pod.
func namespaceOf(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	text, err := os.ReadFile(podNamespace)
	if err != nil {
		return "", &cli.UsageError{Err: errors.New("there is no namespace for the Lease"), Hint: "outside of a Pod, name one with --namespace"}
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
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
