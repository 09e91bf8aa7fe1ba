//go:build e2e

package load

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/guard"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/must"
)

var long = flag.Bool("long", false, "create and ask for more, which takes many minutes")

// Shared by all tests of this process: an API server with Kyverno's definitions but without Kyverno, and a Sigstore.
var (
	live   *cluster.Cluster
	box    *sandbox.Sandbox
	folder string // of the run; it holds the guard's binary
)

func TestMain(m *testing.M) {
	fixture.Main(m, func(ctx context.Context, f *fixture.Fixture) error {
		err := errors.Join(f.Build(ctx, "polex-guard"), f.StartSigstore(ctx), f.StartCluster(ctx, cluster.Options{WithoutKyverno: true}))
		live, box, folder = f.Cluster, f.Sigstore, f.Folder
		return err
	})
}

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
	g, dir := &standing{}, t.TempDir()
	g.config = filepath.Join(dir, "config.yaml")
	must.Do(t, os.WriteFile(g.config, []byte(fixture.TrustPolicy(t, box)), 0o600))
	g.pprof = fmt.Sprintf("127.0.0.1:%d", must.Get(servers.FreePorts(1))(t)[0])
	g.Process, g.bundle = guard.Serve(t, guard.Options{
		Binaries: folder, Dir: dir, Config: g.config, Kubeconfig: live.Kubeconfig(), Flags: []string{"--pprof-address", g.pprof},
	})
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
	must.Do(t, cluster.OK(live.Post(t.Context(), guard.Webhooks, []byte(text))))
	unregister := sync.OnceFunc(func() {
		_, _ = live.Delete(context.Background(), guard.Webhooks+"/polex-guard")
		until(t, "the API server to ask nobody", func(ctx context.Context) error { return refusal(ctx, namespace, "") })
	})
	t.Cleanup(unregister)
	until(t, "the API server to ask the guard", func(ctx context.Context) error { return refusal(ctx, namespace, "[unsigned]") })
	return unregister
}

// refusal returns an error unless an unsigned exception is rejected with the text; "" expects admission.
func refusal(ctx context.Context, namespace, why string) error {
	target := targets(namespace)[0]
	answer, err := live.DryRun(ctx, target, []byte(fixture.Draft{Name: "probe"}.In(target)))
	if err == nil && (answer.OK() != (why == "") || !strings.Contains(answer.Message(), why)) {
		err = errors.New(answer.Message())
	}
	return err
}

func until(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), waitLimit)
	defer cancel()
	must.Do(t, live.Until(ctx, what, ask))
}

func namespace(t *testing.T, on *cluster.Cluster, name string) string {
	t.Helper()
	must.Do(t, on.CreateNamespace(t.Context(), name))
	t.Cleanup(func() { // the next test counts stored exceptions
		for _, target := range targets(name) {
			_, _ = on.Delete(context.Background(), target.Path(""))
		}
	})
	return name
}

// tick is the kernel's unit of CPU time (sysconf(_SC_CLK_TCK)).
const tick = 10 * time.Millisecond

// cpu returns the CPU time of a process (proc_pid_stat(5)).
func cpu(t *testing.T, pid int) time.Duration {
	t.Helper()
	text := proc(t, pid, "stat")
	// The program's name, in parentheses, can contain anything.
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const utime, stime = 14 - 3, 15 - 3 // the first of these is the third
	var ticks int64
	for _, field := range []string{fields[utime], fields[stime]} {
		n := must.Get(strconv.ParseInt(field, 10, 64))(t)
		ticks += n
	}
	return time.Duration(ticks) * tick
}

// memory returns a line of /proc/PID/status in bytes: VmRSS, VmHWM for the peak, or RssAnon for
// anonymous memory (proc_pid_status(5)).
func memory(t *testing.T, pid int, line string) int64 {
	t.Helper()
	for text := range strings.Lines(proc(t, pid, "status")) {
		if value, found := strings.CutPrefix(text, line+":"); found {
			return must.Get(strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64))(t) << 10
		}
	}
	t.Fatalf("there is no %s", line)
	return 0
}

// files returns the number of a process' open files and connections.
func files(t *testing.T, pid int) int {
	t.Helper()
	return len(must.Get(os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)))(t))
}

func proc(t *testing.T, pid int, name string) string {
	t.Helper()
	must.That(t, pid != 0, "the process does not run")
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		t.Skip("only Linux says what a process takes: ", err)
	}
	return string(text)
}
