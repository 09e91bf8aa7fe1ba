//go:build e2e

package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/guard"
	"github.com/polex-dev/polex/test/e2e/servers"
)

// waitLimit is the timeout for expected events.
const waitLimit = time.Minute

// standing is a running guard and its certificate authority.
type standing struct {
	*guard.Process
	bundle []byte // PEM
	config string // path of its configuration
	pprof  string // host:port
}

// startGuard runs a guard that trusts the sandbox.
func startGuard(t *testing.T) *standing {
	t.Helper()
	return startGuardOf(t, folder)
}

// startGuardOf runs the guard program of a folder.
func startGuardOf(t *testing.T, binaries string) *standing {
	t.Helper()
	g, dir := &standing{}, t.TempDir()
	var err error
	if g.bundle, err = guard.Certify(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(box.ConfigPath)
	if err != nil {
		t.Fatal(err)
	}
	g.config = filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(g.config, []byte(strings.Replace(string(text), "trustedRoot: "+filepath.Base(box.TrustedRootPath), "trustedRoot: "+box.TrustedRootPath, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := servers.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	g.pprof = fmt.Sprintf("127.0.0.1:%d", free[0])
	if g.Process, err = guard.Start(context.Background(), guard.Options{
		Binaries: binaries, Dir: dir, Config: g.config, Kubeconfig: live.Kubeconfig(), Flags: []string{"--pprof-address", g.pprof},
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(g.Logs())
		}
		g.Stop()
	})
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	if err := g.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return g
}

// register registers the guard's webhook, for one namespace only if only is set, and waits until
// the API server calls it. The returned function removes it, and waits too.
func (g *standing) register(t *testing.T, only string) func() {
	t.Helper()
	text := guard.Registration(g.Webhook, g.bundle)
	namespace := only
	if only == "" {
		namespace = "default"
	} else {
		text = strings.Replace(text, "  failurePolicy: Fail\n", "  failurePolicy: Fail\n  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "+only+"}}\n", 1)
	}
	answer, err := live.Do(t.Context(), cluster.Request{Method: http.MethodPost, Path: guard.Webhooks, Body: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	if !answer.OK() {
		t.Fatal(answer.Message())
	}
	unregister := sync.OnceFunc(func() {
		_, _ = live.Do(context.Background(), cluster.Request{Method: http.MethodDelete, Path: guard.Webhooks + "/polex-guard"})
		until(t, "the API server to ask nobody", func(ctx context.Context) error { return refusal(ctx, namespace, "") })
	})
	t.Cleanup(unregister)
	until(t, "the API server to ask the guard", func(ctx context.Context) error { return refusal(ctx, namespace, "[unsigned]") })
	return unregister
}

// refusal returns an error unless an unsigned exception is rejected with the text; "" expects
// admission.
func refusal(ctx context.Context, namespace, why string) error {
	target := targets(namespace)[0]
	answer, err := live.DryRun(ctx, target, []byte(draft{name: "probe"}.in(target)))
	if err == nil && (answer.OK() != (why == "") || !strings.Contains(answer.Message(), why)) {
		err = errors.New(answer.Message())
	}
	return err
}

func until(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), waitLimit)
	defer cancel()
	if err := live.Until(ctx, what, ask); err != nil {
		t.Fatal(err)
	}
}

func namespace(t *testing.T, on *cluster.Cluster, name string) string {
	t.Helper()
	if err := on.CreateNamespace(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the next test counts stored exceptions
		for _, target := range targets(name) {
			_, _ = on.Do(context.Background(), cluster.Request{Method: http.MethodDelete, Path: target.Path("")})
		}
	})
	return name
}
