//go:build e2e

package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/must"
)

// TestGuardBeside creates the same valid exceptions of both groups in turns, one at a time: without
// a webhook, with the guard, with Kyverno and no policy for them, and with Kyverno and
// validate.manifests. It prints the time of a create, and the CPU time of the guard and of Kyverno.
// One of two guards is called; the other holds the lease and checks stored exceptions. It does not
// judge the times. It fails if a valid exception is rejected or a forged one admitted.
func TestGuardBeside(t *testing.T) {
	turns, share := 8, 25
	if *long {
		turns = 80
	}
	keeps := startGuard(t)
	until(t, "the first guard to lead", func(context.Context) error {
		if keeps.metric(t, "polex_guard_leader") != 1 {
			return errors.New("it does not")
		}
		return nil
	})
	g := startGuard(t)
	g.register(t, namespace(t, live, "guarded"))
	peer := startKyverno(t)
	all := []*way{
		{name: "nobody is asked", on: live, namespace: namespace(t, live, "bare")},
		{name: "polex-guard", on: live, namespace: "guarded", pid: g.PID("polex-guard"), also: keeps.PID("polex-guard"), refuses: "[altered]"},
		{name: "Kyverno, without a policy for them", on: peer, namespace: namespace(t, peer, "bare"), pid: peer.PID("kyverno")},
		{name: "Kyverno, validate.manifests", on: peer, namespace: namespace(t, peer, "checked"), pid: peer.PID("kyverno"), refuses: "diff found"},
	}
	for _, w := range all {
		w.prepare(t, turns*share)
	}
	for turn := range turns {
		for i := range all {
			w := all[(turn+i)%len(all)]
			w.create(t, w.made[turn*share:(turn+1)*share])
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-36s %8s %8s %8s %11s %8s %12s %16s %14s\n", "", "median", "p99", "most", "over bare", "p99 over", "CPU a create", "of the controller", "peak RSS (now anonymous) MB")
	for _, w := range all {
		fmt.Fprintf(&table, "%-36s %8s %8s %8s %11s %8s %12s %16s %14s\n", w.name, ms(w.at(50)), ms(w.at(99)), ms(w.at(100)),
			ms(w.at(50)-all[0].at(50)), ms(w.at(99)-all[0].at(99)), w.each(w.pid, w.cpu), w.each(w.also, w.kept), w.memory(t))
	}
	guard, kyverno := all[1], all[3]
	check := kyverno.cpu - all[2].cpu // without Kyverno's work for any exception
	t.Logf("%d creates each way, on %d processors that the servers share\n%s", turns*share, runtime.NumCPU(), table.String())
	t.Logf("the guard to Kyverno: %.2f of the CPU (%.2f with the controller's, %.2f of the check's alone), %.2f of the memory (%.2f of the anonymous), %.2f of the time over bare",
		ratio(guard.cpu, kyverno.cpu), ratio(guard.cpu+guard.kept, kyverno.cpu), ratio(guard.cpu, check),
		ratio(memory(t, guard.pid, "VmHWM"), memory(t, kyverno.pid, "VmHWM")), ratio(memory(t, guard.pid, "RssAnon"), memory(t, kyverno.pid, "RssAnon")),
		ratio(guard.at(50)-all[0].at(50), kyverno.at(50)-all[0].at(50)))
}

func ratio[T time.Duration | int64](a, b T) float64 { return float64(a) / float64(b) }

// way is one way to create exceptions in a cluster.
type way struct {
	name      string
	on        *cluster.Cluster
	namespace string
	pid       int    // the process that is called; 0 for none
	also      int    // the process that checks stored exceptions, if it is another one
	refuses   string // the message for a forged exception; "" if nothing checks it

	made []task
	took []time.Duration
	cpu  time.Duration // of the called process
	kept time.Duration // of the process that checks stored exceptions
}

// prepare signs n exceptions, and checks that a forged one is rejected if there is a check.
func (w *way) prepare(t *testing.T, n int) {
	t.Helper()
	groups := targets(w.namespace)
	drafts := make([]string, n+len(groups))
	for i := range drafts {
		drafts[i] = fixture.Draft{Name: fmt.Sprintf("e-%05d", i)}.In(groups[i%len(groups)])
	}
	for i, o := range seal(t, sandbox.Identity{}, drafts...) {
		made := task{name: fmt.Sprint(w.name, " ", i), target: groups[i%len(groups)]}
		if i < n {
			made.body = asJSON(t, o)
			w.made = append(w.made, made)
			continue
		}
		annotations(o)["forged"] = "yes"
		made.body = asJSON(t, o)
		until(t, w.name, func(ctx context.Context) error {
			answer, err := w.on.Create(ctx, made.target, made.body)
			if err == nil && (answer.OK() != (w.refuses == "") || !strings.Contains(answer.Message(), w.refuses)) {
				err = errors.New(answer.Message())
				if answer.OK() {
					_, _ = w.on.Delete(ctx, made.target.Path(fmt.Sprintf("e-%05d", i)))
				}
			}
			return err
		})
	}
}

// create creates exceptions one after the other.
func (w *way) create(t *testing.T, all []task) {
	t.Helper()
	asked, also := w.spent(t)
	for _, made := range all {
		began := time.Now()
		answer, err := w.on.Create(t.Context(), made.target, made.body)
		w.took = append(w.took, time.Since(began))
		if err != nil {
			t.Fatal(err)
		}
		if answer.Code != http.StatusCreated {
			t.Fatalf("%s: %d: %s", made.name, answer.Code, answer.Message())
		}
	}
	askedThen, alsoThen := w.spent(t)
	w.cpu, w.kept = w.cpu+askedThen-asked, w.kept+alsoThen-also
}

// spent returns the CPU times of the called process and of the one that checks stored exceptions.
func (w *way) spent(t *testing.T) (asked, also time.Duration) {
	t.Helper()
	if w.pid != 0 {
		asked = cpu(t, w.pid)
	}
	if w.also != 0 {
		also = cpu(t, w.also)
	}
	return asked, also
}

// at returns a percentile of the times.
func (w *way) at(percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(w.took))
	return sorted[(len(sorted)-1)*percent/100]
}

// each returns the CPU time per create.
func (w *way) each(pid int, all time.Duration) string {
	if pid == 0 {
		return ""
	}
	return ms(all / time.Duration(len(w.took)))
}

// memory returns the peak memory of the called process, and its current anonymous memory.
func (w *way) memory(t *testing.T) string {
	t.Helper()
	if w.pid == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f (%.1f)", float64(memory(t, w.pid, "VmHWM"))/1e6, float64(memory(t, w.pid, "RssAnon"))/1e6)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }

// startKyverno runs another API server. Its Kyverno knows the sandbox and verifies the exceptions
// of one namespace, with validate.manifests.
func startKyverno(t *testing.T) *cluster.Cluster {
	t.Helper()
	peer := must.Get(fixture.Cluster(context.Background(), cluster.Options{Dir: t.TempDir(), KyvernoEnv: []string{
		"SIGSTORE_ROOT_FILE=" + box.FulcioChainPath, "SIGSTORE_REKOR_PUBLIC_KEY=" + box.RekorKeyPath, "SIGSTORE_CT_LOG_PUBLIC_KEY_FILE=" + box.CTLogKeyPath,
		"HOME=" + t.TempDir(), "HTTPS_PROXY=http://127.0.0.1:1", "HTTP_PROXY=http://127.0.0.1:1",
	}}))(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(peer.Logs())
		}
		_ = peer.Close()
	})
	text := must.Get(os.ReadFile(fixture.FromRoot("test/e2e/interop/testdata/validatemanifests.yaml")))(t)
	policy := strings.NewReplacer(
		"https://token.actions.githubusercontent.com", box.IssuerURL,
		"https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main", sandbox.Identity{}.Subject(),
		"https://rekor.sigstore.dev", box.RekorURL,
		"operations: [CREATE, UPDATE]", "operations: [CREATE, UPDATE]\n          namespaces: [checked]",
	).Replace(string(text))
	must.Do(t, cluster.OK(peer.Post(t.Context(), "/apis/kyverno.io/v1/clusterpolicies", []byte(policy))))
	return peer
}
