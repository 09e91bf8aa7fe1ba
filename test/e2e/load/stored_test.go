//go:build e2e

package load

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
)

// TestStored prints what one guard takes for each exception: the processors' time to
// admit it and look at it when it is stored, memory as long as it is, and time again to
// judge all of them when the guard starts and when the trust policy changes. It judges no
// figure: it fails when one was not found to be verified.
func TestStored(t *testing.T) {
	n := 1000
	if *long {
		n = 5000
	}
	ns := namespace(t, live, "stored")
	groups := targets(ns)
	first := startGuard(t)
	empty := first.rests(t, 0)
	first.register(t, "")
	var spent time.Duration
	for _, part := range chunks(n, 500) {
		drafts := make([]string, len(part))
		for i, k := range part {
			drafts[i] = draft{name: fmt.Sprintf("s-%05d", k)}.in(groups[k%len(groups)])
		}
		var made []task
		for i, o := range seal(t, sandbox.Identity{}, drafts...) {
			made = append(made, task{name: drafts[i], target: groups[part[i]%len(groups)], body: asJSON(t, o)})
		}
		before := cpu(t, first.PID("polex-guard"))
		each(t, made, func(made task) {
			if answer, err := live.Create(t.Context(), made.target, made.body); err != nil || !answer.OK() {
				t.Errorf("%v: %.300s", err, answer.Message())
			}
		})
		first.rests(t, part[len(part)-1]+1)
		spent += cpu(t, first.PID("polex-guard")) - before
	}
	if t.Failed() {
		return
	}
	grown := first.rests(t, n)
	first.Stop()
	t.Logf("%s on a processor for each of %d creates; resident %.1f MB without one, %.1f MB with all: %.1f KiB each", (spent / time.Duration(n)).Round(time.Microsecond),
		n, float64(empty)/1e6, float64(grown)/1e6, float64(grown-empty)/1024/float64(n))

	g := startGuard(t)
	pid := g.PID("polex-guard")
	full := g.rests(t, n)
	started := cpu(t, pid)
	text, err := os.ReadFile(g.config)
	if err != nil {
		t.Fatal(err)
	}
	const trust = "\ntrust:\n"
	if strings.Count(string(text), trust) != 1 {
		t.Fatalf("there is no place for a change in %s", text)
	}
	before := g.metric(t, lastRecheck)
	if err := os.WriteFile(g.config, []byte(strings.Replace(string(text), trust, trust+"  kinds: [PolicyException.kyverno.io, PolicyException.policies.kyverno.io]\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "everything to be judged again", func(context.Context) error {
		if g.metric(t, lastRecheck) == before {
			return fmt.Errorf("it was not")
		}
		return nil
	})
	again := cpu(t, pid) - started
	after := memory(t, pid, "VmRSS")
	t.Logf("%d stored: resident %.1f MB without one, %.1f MB with them, %.1f MB after another trust policy: %.1f KiB each, and %.1f KiB; at most %.1f MB",
		n, float64(empty)/1e6, float64(full)/1e6, float64(after)/1e6, float64(full-empty)/1024/float64(n), float64(after-empty)/1024/float64(n), float64(memory(t, pid, "VmHWM"))/1e6)
	t.Logf("%s on a processor to start and judge them, %s to judge them again: %s each", started, again, (again / time.Duration(n)).Round(time.Microsecond))
}

const lastRecheck = "polex_guard_last_recheck_timestamp_seconds"

// rests waits until a guard has found so many exceptions verified, and returns what
// memory it has then.
func (g *standing) rests(t *testing.T, n int) int64 {
	t.Helper()
	until(t, "everything to be judged", func(context.Context) error {
		if g.metric(t, lastRecheck) == 0 {
			return fmt.Errorf("it was not")
		}
		if n > 0 {
			sum := g.sum(t, `polex_guard_exceptions{`, `reason="verified"`)
			if int(sum) != n {
				return fmt.Errorf("%.0f are verified", sum)
			}
		}
		return nil
	})
	return memory(t, g.PID("polex-guard"), "VmRSS")
}

func chunks(n, size int) [][]int {
	var all [][]int
	for i := range n {
		if i%size == 0 {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], i)
	}
	return all
}
