//go:build e2e

package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/servers"
)

// waitLimit is the timeout for expected events.
const waitLimit = 2 * time.Minute

// instance is one running polex-guard.
type instance struct {
	group   *servers.Group
	dir     string
	config  string // path of its configuration
	webhook string // host:port
	metrics string
	health  string
	bundle  []byte // of its certificate authority

	process   *Process
	alsoAsked string // further rules of the webhook, in YAML, indented

	// For a guard that runs according to its manifests.
	kubeconfig string // with the token of its ServiceAccount
	args, env  []string
	limits     corev1.ResourceRequirements
}

// settings configure a guard for a test.
type settings struct {
	guard string   // the section guard, in YAML, indented; "" for none
	kinds []string // of the trust policy; exceptions, if it is empty
	flags []string // more flags
	dir   string   // "" for a new one
	// kubeconfig is the guard's connection to the API server; "" is a direct one.
	kubeconfig string
	// mounted issues the certificate of the guard. Its files are mounted like kubelet does.
	mounted *authority
	// itself makes the guard create its own certificate.
	itself bool
}

// run starts a guard, and waits until it is ready.
func (s settings) run(t *testing.T) *instance {
	t.Helper()
	if s.dir == "" {
		s.dir = t.TempDir()
	}
	i := &instance{dir: s.dir, config: filepath.Join(s.dir, "config.yaml")}
	i.configure(t, s.guard, s.kinds...)
	switch {
	case s.itself:
		s.flags = append(s.flags, "--self-managed-certificate", secretName, "--dns-name", "localhost")
	case s.mounted != nil:
		i.bundle = s.mounted.certificate()
		mount(t, i.dir, s.mounted.certifies(t))
	default:
		i.bundle = certify(t, s.dir)
	}
	if s.kubeconfig == "" {
		s.kubeconfig = live.Kubeconfig()
	}
	p, err := Start(context.Background(), Options{Binaries: folder, Dir: s.dir, Config: i.config, Kubeconfig: s.kubeconfig, Flags: s.flags})
	if err != nil {
		t.Fatal(err)
	}
	i.process, i.group, i.webhook, i.metrics, i.health = p, p.Group, p.Webhook, p.Metrics, p.Health
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(i.group.Logs())
		}
		i.group.Stop()
	})
	if s.itself {
		i.mountSecret(t, certificateSecret, i.dir)
	}
	i.until(t, "the guard to be ready", i.ready)
	return i
}

// again restarts a stopped or killed guard.
func (i *instance) again(t *testing.T) {
	t.Helper()
	if err := i.process.Again(context.Background()); err != nil {
		t.Fatal(err)
	}
	i.until(t, "the guard to be ready", i.ready)
}

// ready returns nil if the guard is ready.
func (i *instance) ready(ctx context.Context) error { return get(ctx, "http://"+i.health+"/readyz") }

// configure writes the configuration: the sandbox's trust policy for some kinds, and a section
// guard.
func (i *instance) configure(t *testing.T, section string, kinds ...string) {
	t.Helper()
	text, err := os.ReadFile(box.ConfigPath)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.ReplaceAll(string(text), "trustedRoot: "+filepath.Base(box.TrustedRootPath), "trustedRoot: "+box.TrustedRootPath))
	if len(kinds) > 0 {
		text = []byte(strings.Replace(string(text), "\ntrust:\n", "\ntrust:\n  kinds: ["+strings.Join(kinds, ", ")+"]\n", 1))
	}
	if section != "" {
		text = append(text, "\nguard:\n"+section...)
	}
	if err := os.WriteFile(i.config, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// until repeats a check until it succeeds, while the guard runs, for waitLimit at most.
func (i *instance) until(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	if err := i.group.Until(ctx, what, ask); err != nil {
		t.Fatal(err)
	}
}

// certify writes a certificate for loopback and some names, and returns its certificate authority.
func certify(t *testing.T, dir string, names ...string) []byte {
	t.Helper()
	bundle, err := Certify(dir, names...)
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

const webhooks = Webhooks

// register registers the guard's webhook until the test ends, and waits until the API server calls
// it.
func (i *instance) register(t *testing.T) {
	t.Helper()
	do(t, cluster.Request{Method: http.MethodPost, Path: webhooks, Body: []byte(i.registration("127.0.0.1"))}).want(t, http.StatusCreated)
	t.Cleanup(func() { unregister(t) })
	i.asked(t)
}

// registration returns the webhook configuration, with a host name.
func (i *instance) registration(host string) string {
	text := Registration(strings.Replace(i.webhook, "127.0.0.1", host, 1), i.bundle)
	return strings.Replace(text, "  failurePolicy:", i.alsoAsked+"  failurePolicy:", 1) // of the first webhook
}

// asked waits until the API server calls the guard.
func (i *instance) asked(t *testing.T) {
	t.Helper()
	i.until(t, "the API server to ask the guard", func(ctx context.Context) error {
		target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: "default"}
		answer, err := live.DryRun(ctx, target, []byte(strings.ReplaceAll(draft{name: "probe", namespace: "default"}.legacy("v2"), "polex.dev/expires-in", "polex.dev/unused")))
		if err == nil && (answer.OK() || !strings.Contains(answer.Message(), "[unsigned]")) {
			err = errors.New(answer.Message())
		}
		return err
	})
}

// unregister removes the webhook, and waits until the API server no longer calls it.
func unregister(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	if _, err := live.Do(ctx, cluster.Request{Method: http.MethodDelete, Path: webhooks + "/polex-guard"}); err != nil {
		t.Fatal(err)
	}
	if err := live.Until(ctx, "the API server to ask nobody", func(ctx context.Context) error {
		answer, err := live.DryRun(ctx, cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: "default"}, []byte(draft{name: "probe", namespace: "default"}.legacy("v2")))
		if err == nil && !answer.OK() {
			err = errors.New(answer.Message())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// measures returns nil if the metrics have a line.
func (i *instance) measures(ctx context.Context, line string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+i.metrics+"/metrics", nil)
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: 5 * time.Second}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && !slices.Contains(strings.Split(string(text), "\n"), line) {
		err = fmt.Errorf("no line %q", line)
	}
	return err
}

// contains returns nil if the API server's answer has a text.
func contains(ctx context.Context, path, text string) error {
	answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: path})
	if err == nil && !strings.Contains(string(answer.Body), text) {
		err = fmt.Errorf("%s does not hold %q", path, text)
	}
	return err
}
