//go:build e2e

package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
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
	p := must.Get(Start(context.Background(), Options{Binaries: folder, Dir: s.dir, Config: i.config,
		Kubeconfig: s.kubeconfig, Flags: s.flags}))(t)
	i.process, i.group, i.webhook, i.metrics, i.health = p, p.Group, p.Webhook, p.Metrics, p.Health
	fixture.StopAfter(t, i.group)
	if s.itself {
		i.mountSecret(t, certificateSecret, i.dir)
	}
	i.until(t, "the guard to be ready", i.ready)
	return i
}

// again restarts a stopped or killed guard.
func (i *instance) again(t *testing.T) {
	t.Helper()
	must.Do(t, i.process.Again(context.Background()))
	i.until(t, "the guard to be ready", i.ready)
}

// ready returns nil if the guard is ready.
func (i *instance) ready(ctx context.Context) error { return get(ctx, "http://"+i.health+"/readyz") }

// configure writes the configuration: the sandbox's trust policy for some kinds, and a section guard.
func (i *instance) configure(t *testing.T, section string, kinds ...string) {
	t.Helper()
	text := fixture.TrustPolicy(t, box)
	if len(kinds) > 0 {
		text = strings.Replace(text, "\ntrust:\n", "\ntrust:\n  kinds: ["+strings.Join(kinds, ", ")+"]\n", 1)
	}
	if section != "" {
		text += "\nguard:\n" + section
	}
	must.Do(t, os.WriteFile(i.config, []byte(text), 0o600))
}

// until repeats a check until it succeeds, while the guard runs, for waitLimit at most.
func (i *instance) until(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	must.Do(t, i.group.Until(ctx, what, ask))
}

// certify writes a certificate for loopback and some names, and returns its certificate authority.
func certify(t *testing.T, dir string, names ...string) []byte {
	t.Helper()
	return must.Get(Certify(dir, names...))(t)
}

const webhooks = Webhooks

// register registers the guard's webhook until the test ends, and waits until the API server calls it.
func (i *instance) register(t *testing.T) {
	t.Helper()
	post(t, webhooks, []byte(i.registration("127.0.0.1"))).want(t, http.StatusCreated)
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
		probe := draft{name: "probe", namespace: "default"}.legacy("v2")
		return refuses("unsigned")(live.DryRun(ctx, target, []byte(strings.ReplaceAll(probe, "polex.dev/expires-in",
			"polex.dev/unused"))))
	})
}

// unregister removes the webhook, and waits until the API server no longer calls it.
func unregister(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	must.Get(live.Delete(ctx, webhooks+"/polex-guard"))(t)
	must.Do(t, live.Until(ctx, "the API server to ask nobody", func(ctx context.Context) error {
		target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: "default"}
		return cluster.OK(live.DryRun(ctx, target, []byte(draft{name: "probe", namespace: "default"}.legacy("v2"))))
	}))
}

// check is a condition that a test waits for.
type check = func(context.Context) error

// measures checks that the metrics have a line.
func (i *instance) measures(line string) check {
	return func(ctx context.Context) error {
		text, err := servers.Fetch(ctx, "http://"+i.metrics+"/metrics")
		if err == nil && !slices.Contains(strings.Split(text, "\n"), line) {
			err = fmt.Errorf("no line %q", line)
		}
		return err
	}
}

// leads checks that the guard is the leader.
func (i *instance) leads(ctx context.Context) error { return i.measures("polex_guard_leader 1")(ctx) }

// contains checks that the API server's answer has a text.
func contains(path, text string) check {
	return func(ctx context.Context) error {
		answer, err := live.Get(ctx, path)
		if err == nil && !strings.Contains(string(answer.Body), text) {
			err = fmt.Errorf("%s does not hold %q", path, text)
		}
		return err
	}
}

// eventsOf returns the path of the Events in a namespace.
func eventsOf(ns string) string { return "/apis/events.k8s.io/v1/namespaces/" + ns + "/events" }

// binaries is the folder of this repository with the programs.
const binaries = "bin/e2e"

// Shared by all tests of this process.
var (
	live   *cluster.Cluster // with Kyverno and its webhooks
	box    *sandbox.Sandbox
	folder string // of the run; it holds the guard's binary
)

func TestMain(m *testing.M) {
	fixture.Main(m, func(ctx context.Context, f *fixture.Fixture) error {
		err := errors.Join(f.Build(ctx, "polex-guard"), f.StartSigstore(ctx),
			f.StartCluster(ctx, cluster.Options{KyvernoAccount: true, Audited: []string{account}}))
		live, box, folder = f.Cluster, f.Sigstore, f.Folder
		return err
	})
}

// served are the kinds and versions that Kyverno defines.
var served = []cluster.Target{
	{Group: "kyverno.io", Version: "v2"}, {Group: "kyverno.io", Version: "v2beta1"},
	{Group: "policies.kyverno.io", Version: "v1"}, {Group: "policies.kyverno.io", Version: "v1beta1"}, {Group: "policies.kyverno.io", Version: "v1alpha1"},
}

// withoutKyverno kills Kyverno until the test ends.
func withoutKyverno(t *testing.T) {
	t.Helper()
	must.Do(t, live.KillKyverno(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
		defer cancel()
		expect.NoError(t, live.ReviveKyverno(ctx))
	})
}
