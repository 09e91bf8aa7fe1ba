//go:build e2e

package load

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

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
	answer, err := live.Do(t.Context(), cluster.Request{Method: http.MethodGet, Path: target.Path("")})
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(answer.Body, &list); err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}
