//go:build e2e

package load

import (
	"context"
	"encoding/json"
	"flag"
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
	"github.com/polex-dev/polex/test/must"
)

var beside = flag.String("beside", "", "folder of another polex-guard, whose cost TestStored prints beside this one's")

// TestStored prints the cost of each exception for one guard: the CPU time for admission and for
// the check after it is stored, the memory, and the CPU time for verifying all after a start and
// after a change of the trust policy. In one case 500 exceptions share a certificate, in the other
// each has its own. With -beside DIR the guard in that folder does the same in turns. It does not
// judge the cost. It fails if an exception is not verified.
func TestStored(t *testing.T) {
	n := 1000
	if *long {
		n = 5000
	}
	guards := []string{folder}
	if *beside != "" {
		guards = []string{folder, *beside, folder, *beside}
	}
	ns := namespace(t, live, "stored")
	for _, batch := range []struct {
		count, share int
		floor        time.Duration // of ECDSA: without the chain and the SCT of a known certificate
	}{{n, 500, ecdsaAlone(t, 0, 3)}, {n / 5, 1, ecdsaAlone(t, 2, 4)}} {
		made := stock(t, ns, batch.count, batch.share)
		for _, binaries := range guards {
			c := weigh(t, binaries, made)
			c.floor = batch.floor
			t.Logf("%s: %d exceptions, %d to a certificate\n%s", binaries, batch.count, batch.share, c)
			for _, target := range targets(ns) {
				must.Do(t, cluster.OK(live.Delete(t.Context(), target.Path(""))))
			}
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

// cost is the cost of n exceptions for a guard.
type cost struct {
	n                         int
	creates, starts, rechecks time.Duration // CPU time of all
	// Of a guard without exceptions, of the one that admitted them, of one after a restart, and of
	// that one after it verified them again.
	empty, admitted, started, rechecked taken
	most                                int64 // peak bytes of the last one
	floor                               time.Duration
}

func (c cost) String() string {
	each := func(d time.Duration) string {
		d = (d / time.Duration(c.n)).Round(time.Microsecond)
		return fmt.Sprintf("%s for each, %.1f times its ECDSA (%s)", d, ratio(d, c.floor), c.floor)
	}
	more := func(u taken) string {
		return fmt.Sprintf("%.1f KiB resident (%.1f MB), %.1f KiB live heap", float64(u.resident-c.empty.resident)/1024/float64(c.n), float64(u.resident)/1e6,
			float64(u.heap-c.empty.heap)/1024/float64(c.n))
	}
	return fmt.Sprintf("a create: on a processor %s\n", each(c.creates)) +
		fmt.Sprintf("a stored exception: %s once admitted\n", more(c.admitted)) +
		fmt.Sprintf("                    %s once read by another guard\n", more(c.started)) +
		fmt.Sprintf("                    %s once judged anew; without any %s\n", more(c.rechecked), c.empty) +
		fmt.Sprintf("a start: %s on a processor, %s\n", c.starts, each(c.starts)) +
		fmt.Sprintf("another trust policy: %s on a processor, %s; at most %.1f MB", c.rechecks, each(c.rechecks), float64(c.most)/1e6)
}

// weigh creates exceptions with a guard, restarts it, and gives it another trust policy.
func weigh(t *testing.T, binaries string, made []task) cost {
	t.Helper()
	first := startGuardOf(t, binaries)
	c := cost{n: len(made)}
	c.empty = first.rests(t, 0)
	unregister := first.register(t, "")
	began := cpu(t, first.PID("polex-guard"))
	each(t, made, func(made task) {
		if err := cluster.OK(live.Create(t.Context(), made.target, made.body)); err != nil {
			t.Error(err)
		}
	})
	first.found(t, c.n)
	c.creates = cpu(t, first.PID("polex-guard")) - began
	c.admitted = first.rests(t, c.n)
	unregister()
	first.Stop()

	g := startGuardOf(t, binaries)
	pid := g.PID("polex-guard")
	g.found(t, c.n)
	c.starts = cpu(t, pid)
	c.started = g.rests(t, c.n)
	text := must.Get(os.ReadFile(g.config))(t)
	const trust = "\ntrust:\n"
	if strings.Count(string(text), trust) != 1 {
		t.Fatalf("there is no place for a change in %s", text)
	}
	before := g.metric(t, lastRecheck) // in whole seconds
	until(t, "another second", func(context.Context) error {
		if float64(time.Now().Unix()) <= before {
			return fmt.Errorf("it is the same")
		}
		return nil
	})
	began = cpu(t, pid)
	must.Do(t, os.WriteFile(g.config, []byte(strings.Replace(string(text), trust,
		trust+"  kinds: [PolicyException.kyverno.io, PolicyException.policies.kyverno.io]\n", 1)), 0o600))
	until(t, "everything to be judged again", func(context.Context) error {
		if g.metric(t, lastRecheck) == before {
			return fmt.Errorf("it was not")
		}
		return nil
	})
	c.rechecks = cpu(t, pid) - began
	c.rechecked, c.most = g.rests(t, c.n), memory(t, pid, "VmHWM")
	g.Stop()
	return c
}

const lastRecheck = "polex_guard_last_recheck_timestamp_seconds"

// found waits until a guard has checked everything and found n verified exceptions.
func (g *standing) found(t *testing.T, n int) {
	t.Helper()
	until(t, "everything to be judged", func(context.Context) error {
		if g.metric(t, lastRecheck) == 0 {
			return fmt.Errorf("it was not")
		}
		if sum := g.sum(t, `polex_guard_exceptions{`, `reason="verified"`); int(sum) != n {
			return fmt.Errorf("%.0f are verified", sum)
		}
		return nil
	})
}

// rests returns the resources of an idle guard: the heap after a collection, and the resident
// memory after Go has returned unused memory to the system, or after 15 seconds.
func (g *standing) rests(t *testing.T, n int) taken {
	t.Helper()
	g.found(t, n)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	began := float64(time.Now().UnixMilli()) / 1000
	_ = live.Until(ctx, "memory to be given back", func(context.Context) error {
		if g.metric(t, "go_memstats_last_gc_time_seconds") < began {
			return fmt.Errorf("what the work has left is not collected")
		}
		if idle := g.metric(t, "go_memstats_heap_idle_bytes") - g.metric(t, "go_memstats_heap_released_bytes"); idle > 1<<20 {
			return fmt.Errorf("%.0f bytes are kept for nothing", idle)
		}
		return nil
	})
	u := g.takes(t)
	g.profile(t, "heap?gc=1")
	u.heap = int64(g.metric(t, "go_memstats_heap_alloc_bytes"))
	return u
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
