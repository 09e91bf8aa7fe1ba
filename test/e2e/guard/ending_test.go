//go:build e2e

package guard

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// TestManyEnd: a thousand exceptions that expire at the same time are all deleted. It prints the
// time that takes from their expiry, and the time of a loop with the same number of parallel
// deletions, without and with a flood of requests. It does not judge the times.
func TestManyEnd(t *testing.T) {
	const many = 1000
	i := settings{}.run(t)
	i.register(t)
	for _, way := range []struct {
		name    string
		flooded int
	}{{"with nothing beside", 0}, {"under a flood of forged reviews", 8}} {
		t.Run(strings.ReplaceAll(way.name, " ", "-"), func(t *testing.T) {
			bare := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: namespace(t)}
			end := func() int64 { return 0 }
			fill(t, bare, many, time.Hour)
			kept := bare
			kept.Namespace += "-ends"
			if err := live.CreateNamespace(t.Context(), kept.Namespace); err != nil {
				t.Fatal(err)
			}
			ends := fill(t, kept, many, 75*time.Second)
			if time.Now().After(ends) {
				t.Fatal("it took too long to create them")
			}
			if way.flooded > 0 {
				end = i.flood(t, bare.Namespace, way.flooded)
			}
			defer func() { end() }()
			began := time.Now()
			inParallel(many, func(n int) {
				if answer, err := live.Do(t.Context(), cluster.Request{Method: http.MethodDelete, Path: bare.Path(numbered(n))}); err != nil || !answer.OK() {
					t.Errorf("%v: %s", err, answer.Message())
				}
			})
			loop := time.Since(began)
			i.until(t, "all of them to be gone", func(ctx context.Context) error { return noneAt(ctx, kept) })
			took := time.Since(ends)
			forged := end()
			t.Logf("%s: %d are gone %s after their end; the loop takes %s: %.2f of that (%d forged reviews meanwhile)", way.name, many,
				took.Round(time.Millisecond), loop.Round(time.Millisecond), float64(took)/float64(loop), forged)
		})
	}
}

// atOnce is the number of parallel requests, equal to that of the guard's deletions.
const atOnce = 32

func numbered(n int) string { return fmt.Sprintf("e-%04d", n) }

// fill creates exceptions that expire at the same time, and returns that time.
func fill(t *testing.T, target cluster.Target, many int, lives time.Duration) time.Time {
	t.Helper()
	drafts := make([]string, many)
	for n := range drafts {
		drafts[n] = draft{name: numbered(n), namespace: target.Namespace, lives: lives}.in(target)
	}
	sealed := seal(t, drafts...)
	inParallel(many, func(n int) {
		if answer, err := live.Create(t.Context(), target, []byte(sealed[n])); err != nil || !answer.OK() {
			t.Errorf("%v: %s", err, answer.Message())
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return endOf(t, sealed[0])
}

func inParallel(many int, do func(n int)) {
	queue := make(chan int)
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for n := range queue {
				do(n)
			}
		})
	}
	for n := range many {
		queue <- n
	}
	close(queue)
	all.Wait()
}

// noneAt returns an error while an exception exists.
func noneAt(ctx context.Context, target cluster.Target) error {
	answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: target.Path("") + "?limit=1"})
	if err != nil {
		return err
	}
	var list struct{ Items []struct{} }
	if err := decodeAnswer(answer, &list); err != nil {
		return err
	}
	if len(list.Items) > 0 {
		return fmt.Errorf("there are some")
	}
	return nil
}
