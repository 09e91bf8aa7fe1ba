//go:build e2e

package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/beside"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestGuardBeside creates the same valid exceptions of both groups in turns, one at a time: without a webhook, with the
// guard, with Kyverno and no policy for them, and with Kyverno and validate.manifests. It prints the time of a create,
// and the CPU time of the guard and of Kyverno. One of two guards is called; the other holds the lease and checks
// stored exceptions. It does not judge the times. It fails if a valid exception is rejected or a forged one admitted.
func TestGuardBeside(t *testing.T) {
	turns := 8
	if *long {
		turns = 80
	}
	keeps := startGuard(t)
	until(t, "the first guard to lead", func(context.Context) error {
		return expect.Unless(keeps.metric(t, "polex_guard_leader") == 1, "it does not")
	})
	g := startGuard(t)
	g.register(t, namespace(t, live, "guarded"))
	peer := startKyverno(t)
	bare := &way{on: live, namespace: namespace(t, live, "bare")}
	guarded := &way{on: live, namespace: "guarded", pids: []int{g.PID("polex-guard"), keeps.PID("polex-guard")}, refuses: "[altered]"}
	idle := &way{on: peer, namespace: namespace(t, peer, "bare"), pids: []int{peer.PID("kyverno")}}
	checked := &way{on: peer, namespace: namespace(t, peer, "checked"), pids: idle.pids, refuses: "diff found"}
	for _, w := range []*way{bare, guarded, idle, checked} {
		w.prepare(t, turns*share)
	}
	ways := []*beside.Way{
		{Name: "nobody is asked", Do: bare.create(t)},
		{Name: "polex-guard, both", Do: guarded.create(t)},
		{Name: "Kyverno, without a policy for them", Do: idle.create(t)},
		{Name: "Kyverno, validate.manifests", Do: checked.create(t)},
	}
	beside.Measure(t, fmt.Sprintf("a create of %d in a row", share), turns, ways...)
	over := func(w *beside.Way) float64 { return float64(w.Median() - ways[0].Median()) }
	guard, kyverno := ways[1], ways[3]
	t.Logf("the guard to Kyverno: %.2f of the CPU (%.2f of the check's alone), %.2f of the memory, %.2f of the time over bare",
		float64(guard.CPU())/float64(kyverno.CPU()), float64(guard.CPU())/float64(kyverno.CPU()-ways[2].CPU()),
		float64(guard.Peak())/float64(kyverno.Peak()), over(guard)/over(kyverno))
}

// way is one way to create exceptions in a cluster.
type way struct {
	on        *cluster.Cluster
	namespace string
	pids      []int  // the process that is called, and the one that checks stored exceptions if it is another one
	refuses   string // the message for a forged exception; "" if nothing checks it
	prepared  []task
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
		made := task{name: fmt.Sprint(w.namespace, " ", i), target: groups[i%len(groups)]}
		if i < n {
			made.body = asJSON(t, o)
			w.prepared = append(w.prepared, made)
			continue
		}
		annotations(o)["forged"] = "yes"
		made.body = asJSON(t, o)
		until(t, w.namespace, func(ctx context.Context) error {
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

// share is the number of creates in a row. A process works on after the answer, so one alone cannot be measured.
const share = 25

// create returns a function that creates the next exceptions, one after the other, and returns the cost of one.
func (w *way) create(t *testing.T) func() beside.Cost {
	return func() beside.Cost {
		before := w.spent(t)
		cost := beside.Timed(t, func() error {
			for _, made := range w.prepared[:share] {
				if err := cluster.OK(w.on.Create(t.Context(), made.target, made.body)); err != nil {
					return fmt.Errorf("%s: %w", made.name, err)
				}
			}
			return nil
		})
		w.prepared = w.prepared[share:]
		cost.Time, cost.CPU = cost.Time/share, (w.spent(t)-before)/share
		if len(w.pids) > 0 {
			cost.Peak = memory(t, w.pids[0], "VmHWM")
		}
		return cost
	}
}

// spent returns the CPU time of the processes.
func (w *way) spent(t *testing.T) (all time.Duration) {
	t.Helper()
	for _, pid := range w.pids {
		all += cpu(t, pid)
	}
	return all
}

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
