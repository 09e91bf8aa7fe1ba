//go:build e2e

package load

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/cluster"
)

var beside = flag.String("beside", "", "folder of another polex-guard, whose cost TestStored prints beside this one's")

// TestStored prints what one guard takes for each exception: the processors' time to
// admit it and look at it when it is stored, memory as long as it is, and time again to
// judge all of them when the guard starts and when the trust policy changes; where 500
// share a certificate, and where each has its own. With -beside DIR the guard in that
// folder does the same by turns. It judges no figure: it fails when one was not found to
// be verified.
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
		floor        time.Duration // of ECDSA: without the chain and the SCT of a certificate seen before
	}{{n, 500, ecdsaAlone(t, 0, 3)}, {n / 5, 1, ecdsaAlone(t, 2, 4)}} {
		made := stock(t, ns, batch.count, batch.share)
		for _, binaries := range guards {
			c := weigh(t, binaries, made)
			c.floor = batch.floor
			t.Logf("%s: %d exceptions, %d to a certificate\n%s", binaries, batch.count, batch.share, c)
			for _, target := range targets(ns) {
				if answer, err := live.Do(t.Context(), cluster.Request{Method: http.MethodDelete, Path: target.Path("")}); err != nil || !answer.OK() {
					t.Fatalf("%v: %v", answer, err)
				}
			}
		}
	}
}

// stock seals exceptions of both groups, so many under each certificate.
func stock(t *testing.T, ns string, count, share int) (made []task) {
	t.Helper()
	groups := targets(ns)
	for len(made) < count {
		drafts := make([]string, min(share, count-len(made)))
		for i := range drafts {
			k := len(made) + i
			drafts[i] = draft{name: fmt.Sprintf("s-%05d", k), lives: "3h"}.in(groups[k%len(groups)])
		}
		for _, o := range seal(t, sandbox.Identity{}, drafts...) {
			k := len(made)
			made = append(made, task{name: fmt.Sprintf("s-%05d", k), target: groups[k%len(groups)], body: asJSON(t, o)})
		}
	}
	return made
}

// cost is what a guard takes for so many exceptions.
type cost struct {
	n                         int
	creates, starts, rechecks time.Duration // on a processor, of all
	// Of a guard without any, of the one that admitted them, of one that has started
	// since, and of that after it judged them anew.
	empty, admitted, started, rechecked taken
	most                                int64 // bytes of the last one
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

// weigh creates exceptions where a guard is asked, starts it anew, and gives it another
// trust policy.
func weigh(t *testing.T, binaries string, made []task) cost {
	t.Helper()
	first := startGuardOf(t, binaries)
	c := cost{n: len(made)}
	c.empty = first.rests(t, 0)
	unregister := first.register(t, "")
	began := cpu(t, first.PID("polex-guard"))
	each(t, made, func(made task) {
		if answer, err := live.Create(t.Context(), made.target, made.body); err != nil || !answer.OK() {
			t.Errorf("%v: %.300s", err, answer.Message())
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
	text, err := os.ReadFile(g.config)
	if err != nil {
		t.Fatal(err)
	}
	const trust = "\ntrust:\n"
	if strings.Count(string(text), trust) != 1 {
		t.Fatalf("there is no place for a change in %s", text)
	}
	before := g.metric(t, lastRecheck) // of whole seconds
	until(t, "another second", func(context.Context) error {
		if float64(time.Now().Unix()) <= before {
			return fmt.Errorf("it is the same")
		}
		return nil
	})
	began = cpu(t, pid)
	if err := os.WriteFile(g.config, []byte(strings.Replace(string(text), trust, trust+"  kinds: [PolicyException.kyverno.io, PolicyException.policies.kyverno.io]\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
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

// found waits until a guard has looked at everything and found so many verified.
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

// rests is what a guard has after that, at rest: what is left of the heap after a
// collection, and what is resident once the guard has given back what it does not use. One
// that does not is not waited for any longer.
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
