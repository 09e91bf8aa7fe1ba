//go:build e2e

package load

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestStored prints the cost of each exception for one guard: the CPU time for admission and for
// the check after it is stored, the memory, and the CPU time for verifying all after a start and
// after a change of the trust policy. In one case 500 exceptions share a certificate, in the other
// each has its own. It does not judge the cost. It fails if an exception is not verified.
func TestStored(t *testing.T) {
	n := 1000
	if *long {
		n = 5000
	}
	ns := namespace(t, live, "stored")
	for _, batch := range []struct{ count, share int }{{n, 500}, {n / 5, 1}} {
		made := stock(t, ns, batch.count, batch.share)
		first := startGuard(t)
		empty := first.heap(t)
		unregister := first.register(t, "")
		began := cpu(t, first.PID("polex-guard"))
		each(t, made, func(made task) {
			expect.NoError(t, cluster.OK(live.Create(t.Context(), made.target, made.body)))
		})
		first.found(t, batch.count)
		creates := cpu(t, first.PID("polex-guard")) - began
		unregister()
		first.Stop()

		g := startGuard(t)
		g.found(t, batch.count)
		starts := cpu(t, g.PID("polex-guard"))
		held := g.heap(t) - empty
		rechecks := g.recheck(t)
		g.found(t, batch.count)
		of := func(d time.Duration) time.Duration { return (d / time.Duration(batch.count)).Round(time.Microsecond) }
		t.Logf("%d exceptions, %d to a certificate: on a processor %s to create each, %s after a start, %s after a change; %.1f KiB each",
			batch.count, batch.share, of(creates), of(starts), of(rechecks), float64(held)/1024/float64(batch.count))
		g.Stop()
		for _, target := range targets(ns) {
			must.Do(t, cluster.OK(live.Delete(t.Context(), target.Path(""))))
		}
	}
}

// stock signs exceptions of both groups, share with each certificate.
func stock(t *testing.T, ns string, count, share int) (made []task) {
	t.Helper()
	groups := targets(ns)
	for len(made) < count {
		drafts := make([]string, min(share, count-len(made)))
		for i := range drafts {
			k := len(made) + i
			drafts[i] = fixture.Draft{Name: fmt.Sprintf("s-%05d", k), Lives: "3h"}.In(groups[k%len(groups)])
		}
		for _, o := range seal(t, sandbox.Identity{}, drafts...) {
			k := len(made)
			made = append(made, task{name: fmt.Sprintf("s-%05d", k), target: groups[k%len(groups)], body: asJSON(t, o)})
		}
	}
	return made
}

// recheck gives the guard another trust policy, and returns the CPU time until it has checked everything.
func (g *standing) recheck(t *testing.T) time.Duration {
	t.Helper()
	text := must.Get(os.ReadFile(g.config))(t)
	const trust = "\ntrust:\n"
	must.That(t, strings.Count(string(text), trust) == 1, "there is no place for a change in %s", text)
	before := g.metric(t, lastRecheck) // in whole seconds
	until(t, "another second", func(context.Context) error {
		return expect.Unless(float64(time.Now().Unix()) > before, "it is the same")
	})
	began := cpu(t, g.PID("polex-guard"))
	must.Do(t, os.WriteFile(g.config, []byte(strings.Replace(string(text), trust,
		trust+"  kinds: [PolicyException.kyverno.io, PolicyException.policies.kyverno.io]\n", 1)), 0o600))
	until(t, "everything to be judged again", func(context.Context) error {
		return expect.Unless(g.metric(t, lastRecheck) != before, "it was not")
	})
	return cpu(t, g.PID("polex-guard")) - began
}

const lastRecheck = "polex_guard_last_recheck_timestamp_seconds"

// found waits until a guard has checked everything and found n verified exceptions.
func (g *standing) found(t *testing.T, n int) {
	t.Helper()
	until(t, "everything to be judged", func(context.Context) error {
		if g.metric(t, lastRecheck) == 0 {
			return fmt.Errorf("it was not")
		}
		sum := g.sum(t, `polex_guard_exceptions{`, `reason="verified"`)
		return expect.Unless(int(sum) == n, "%.0f are verified", sum)
	})
}

// heap returns the bytes that a guard holds after a collection.
func (g *standing) heap(t *testing.T) int64 {
	t.Helper()
	fetch(t, "http://"+g.pprof+"/debug/pprof/heap?gc=1")
	return int64(g.metric(t, "go_memstats_heap_alloc_bytes"))
}

// atOnce is the number of parallel requests.
const atOnce = 8

// TestMixed creates 2,000 exceptions of both groups, eight in parallel, every other one forged in
// some way. Each valid one is stored, and each other one rejected with its reason.
func TestMixed(t *testing.T) {
	n := 2000
	if *long {
		n = 20000
	}
	startGuard(t).register(t, "")
	ns := namespace(t, live, "mixed")
	all := tasks(t, ns, n)
	honest, got, wrong := map[string]int{}, map[string]int{}, 0
	var mu sync.Mutex
	each(t, all, func(made task) {
		answer, err := live.Create(t.Context(), made.target, made.body)
		reason, said := "no answer", fmt.Sprint(err)
		if err == nil {
			reason, said = verdict(answer), answer.Message()
		}
		mu.Lock()
		defer mu.Unlock()
		got[reason]++
		if made.want == verified {
			honest[made.target.Group]++
		}
		if reason != made.want {
			if wrong++; wrong <= 20 {
				t.Errorf("%s: %s, want %s: %.500s", made.name, reason, made.want, said)
			}
		}
	})
	if t.Logf("%d asked for, %d at once: %v", len(all), atOnce, got); len(all) != n || got[verified] != n/2 {
		t.Errorf("%d of %d were admitted, want %d", got[verified], len(all), n/2)
	}
	for _, target := range targets(ns) {
		if stored := countOf(t, target); stored != honest[target.Group] || stored == 0 {
			t.Errorf("%d of %s are stored, want %d", stored, target.Group, honest[target.Group])
		}
	}
}

// each does every task, some in parallel.
func each(t *testing.T, all []task, do func(task)) {
	t.Helper()
	queue := make(chan task)
	var group sync.WaitGroup
	for range atOnce {
		group.Go(func() {
			for made := range queue {
				do(made)
			}
		})
	}
	for _, made := range all {
		queue <- made
	}
	close(queue)
	group.Wait()
}

// verdict returns the guard's reason in an answer of the API server.
func verdict(answer *cluster.Answer) string {
	if answer.Code == http.StatusCreated {
		return verified
	}
	_, said, found := strings.Cut(answer.Message(), `admission webhook "guard.polex.dev" denied the request: [`)
	reason, _, closed := strings.Cut(said, "] ")
	if !found || !closed {
		return fmt.Sprintf("another answer (%d)", answer.Code)
	}
	return reason
}

func countOf(t *testing.T, target cluster.Target) int {
	t.Helper()
	var list struct{ Items []json.RawMessage }
	must.Do(t, cluster.Into(&list)(live.Get(t.Context(), target.Path(""))))
	return len(list.Items)
}
