package guard

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
)

var errNoSubcommand = errors.New("missing command: serve or check")

// loader loads the configuration at a path and the files that it names, for a guard in a namespace.
// It returns nil if none of them has changed.
func loader(path, namespace string) func(digest string) (*guard.Rules, error) {
	return func(digest string) (*guard.Rules, error) {
		cfg, err := cli.LoadConfig(path)
		if err != nil {
			return nil, forThisVersion(err)
		}
		config, err := trust.Read(cfg.Document(), cfg.Dir)
		if err != nil {
			return nil, forThisVersion(err)
		}
		settings := cfg.Guard
		// Protect the guard's own namespace, even if it has another name.
		settings.GuardNamespaces = append(settings.GuardNamespaces, namespace)
		for i, path := range settings.Policies {
			if !filepath.IsAbs(path) {
				settings.Policies[i] = filepath.Join(cfg.Dir, path)
			}
		}
		now, err := digestOf(cfg.Document().Source(), config, settings.Policies)
		if err != nil || now == digest {
			return nil, err
		}
		rules, err := guard.NewRules(config, settings, now)
		if err != nil {
			return nil, err
		}
		report := &cli.Report{}
		known := cli.Policies(settings.Policies, report)
		for _, r := range report.Results() {
			return nil, fmt.Errorf("guard.policies: %s:%d: %s", r.File, r.Line, r.Message)
		}
		return rules.WithPolicies(known), nil
	}
}

// forThisVersion adds the version of this guard to an error in the text of the configuration. A
// configuration for another version may have keys or a form that this one does not know. The guard
// rejects it as a whole: an ignored key could be a restriction.
func forThisVersion(err error) error {
	var syntax *exception.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	return cli.InConfig(fmt.Errorf("%w (this is polex-guard %s: correct the configuration, "+
		"or install the version that it is written for)", err, cli.VersionText()))
}

// digestOf returns a digest of a configuration and of the files that it names.
func digestOf(text []byte, config trust.Config, policies []string) (string, error) {
	const maxNamed = 4 << 20 // the maximum size in bytes of a file that the trust policy names
	contents := [][]byte{text}
	for _, path := range append(config.Files(), policies...) {
		raw, err := cli.ReadFileUpTo(path, maxNamed)
		if err != nil {
			return "", fmt.Errorf("a file of the configuration: %w", err)
		}
		contents = append(contents, raw)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(fmt.Appendf(nil, "%q", contents))), nil
}

// maxKubeconfig is the maximum number of bytes of a kubeconfig.
const maxKubeconfig = 1 << 20

// readKubeconfig reads a kubeconfig and the files that it names, and returns a digest of all of them.
// client-go would read some of these files again, and others never.
func readKubeconfig(file string) (*rest.Config, [sha256.Size]byte, error) {
	text, err := cli.ReadFileUpTo(file, maxKubeconfig)
	if err != nil {
		return nil, [sha256.Size]byte{}, err
	}
	stated, err := (&clientcmd.ClientConfigLoadingRules{ExplicitPath: file}).Load() // resolves relative paths
	if err != nil {
		return nil, [sha256.Size]byte{}, err
	}
	// Unlike the deferred loader, this one does not fall back to the Pod's ServiceAccount.
	config, err := clientcmd.NewDefaultClientConfig(*stated, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, [sha256.Size]byte{}, err
	}
	var token []byte
	contents := [][]byte{text}
	for _, f := range []struct {
		name    *string
		content *[]byte
	}{
		{&config.CAFile, &config.CAData}, {&config.CertFile, &config.CertData},
		{&config.KeyFile, &config.KeyData}, {&config.BearerTokenFile, &token},
	} {
		if *f.name != "" && len(*f.content) == 0 { // data wins over a file, but a file wins over a token
			if *f.content, err = cli.ReadFileUpTo(*f.name, maxKubeconfig); err != nil {
				return nil, [sha256.Size]byte{}, err
			}
			if len(bytes.TrimSpace(*f.content)) == 0 {
				return nil, [sha256.Size]byte{}, fmt.Errorf("%s is empty", *f.name)
			}
		}
		contents = append(contents, *f.content)
		*f.name = ""
	}
	if token != nil {
		config.BearerToken = string(bytes.TrimSpace(token))
	}
	return config, sha256.Sum256(fmt.Appendf(nil, "%q", contents)), nil
}

// kubeconfig is a connection to the API server with the credentials that a kubeconfig states now. A
// client certificate or a token that is renewed in time needs no restart.
type kubeconfig struct {
	file      string
	server    string
	expires   time.Time // of the client certificate; zero without one
	digest    [sha256.Size]byte
	transport atomic.Pointer[http.RoundTripper]
}

// RoundTrip sends a request with the latest credentials.
func (k *kubeconfig) RoundTrip(r *http.Request) (*http.Response, error) {
	return (*k.transport.Load()).RoundTrip(r)
}

// load reads the files. After an error, the previous credentials stay in use.
func (k *kubeconfig) load(now time.Time) error {
	config, digest, err := readKubeconfig(k.file)
	if err == nil && digest != k.digest {
		err = k.use(config, now)
	}
	if err != nil {
		return &cli.UsageError{Err: fmt.Errorf("--kubeconfig: %w", err)}
	}
	k.digest = digest
	return nil
}

// use connects with new credentials. Another server may be another cluster, about which the guard
// knows nothing.
func (k *kubeconfig) use(config *rest.Config, now time.Time) error {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return err
	}
	if k.server != "" && k.server != server.String() {
		return fmt.Errorf("the server is %s, and this guard started with %s: restart it", server, k.server)
	}
	var expires time.Time
	if len(config.CertData) > 0 {
		pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
		if err != nil {
			return err
		}
		expires = firstExpiry(pair.Certificate)
	}
	if k.server != "" && !expires.IsZero() && !expires.After(now) {
		return fmt.Errorf("the client certificate expired at %s", expires.UTC().Format(time.RFC3339))
	}
	config.DisableCompression = true // signatures are compressed already, and the API server is near
	transport, err := rest.TransportFor(config)
	if err != nil {
		return err
	}
	if before := k.transport.Swap(&transport); before != nil {
		utilnet.CloseIdleConnectionsFor(*before)
	}
	k.server, k.expires = server.String(), expires
	return nil
}
