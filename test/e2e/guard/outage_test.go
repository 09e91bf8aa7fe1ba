//go:build e2e

package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// TestKilled: while the guard is repeatedly killed and restarted, no unsigned exception is
// admitted. A signed one is admitted as soon as a guard answers.
func TestKilled(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	ns := namespace(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}
	const exceptions = 24
	var drafts []string
	for n := range exceptions {
		drafts = append(drafts, draft{name: fmt.Sprintf("honest-%02d", n), namespace: ns}.legacy("v2"))
	}
	honest := seal(t, drafts...)
	var mu sync.Mutex
	refusals := map[string]int{}
	admits := func(text string) bool {
		answer, err := live.Create(context.Background(), target, []byte(text))
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			refusals["no API server"]++
		case answer.OK():
			return true
		case isDenial(answer):
			refusals[denial.FindStringSubmatch(answer.Message())[1]]++
		case strings.Contains(answer.Message(), "failed calling webhook"):
			refusals["no guard"]++
		default:
			t.Errorf("%d %s", answer.Code, answer.Message())
		}
		return false
	}
	var creating sync.WaitGroup
	waiting := make(chan int, exceptions)
	for n := range exceptions {
		waiting <- n
	}
	close(waiting)
	var admitted atomic.Int32
	const atOnce = 4
	for range atOnce {
		creating.Go(func() {
			for n := range waiting {
				for attempt := 0; ; attempt++ {
					forged := fmt.Sprintf("forged-%02d-%d", n, attempt)
					admits(strings.Replace(honest[n], fmt.Sprintf("honest-%02d", n), forged, 1))
					admits(draft{name: "un" + forged, namespace: ns}.legacy("v2"))
					if admits(honest[n]) {
						admitted.Add(1)
						break
					}
					if t.Context().Err() != nil {
						return
					}
				}
			}
		})
	}
	const kills, between = 5, exceptions / 8
	for n := range int32(kills) {
		i.until(t, "exceptions to get in", func(context.Context) error {
			if got := admitted.Load(); got < n*between {
				return fmt.Errorf("%d did", got)
			}
			return nil
		})
		if err := i.group.Kill(Program); err != nil {
			t.Fatal(err)
		}
		i.again(t)
	}
	creating.Wait()
	t.Logf("refused: %v", refusals)
	for _, reason := range []string{"no guard", "altered", "unsigned"} {
		if refusals[reason] == 0 {
			t.Errorf("nothing was refused for %q", reason)
		}
	}
	var want []string
	for n := range exceptions {
		want = append(want, fmt.Sprintf("honest-%02d", n))
	}
	if got := stored(t, target); !slices.Equal(got, want) {
		t.Errorf("there are %q", got)
	}
}

// stored returns the names of the exceptions in a namespace.
func stored(t *testing.T, target cluster.Target) []string {
	t.Helper()
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	decode(t, do(t, cluster.Request{Method: http.MethodGet, Path: target.Path("")}), &list)
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Metadata.Name)
	}
	slices.Sort(names)
	return names
}

// TestHangs: while a guard hangs, nothing is admitted. It works again when it continues.
func TestHangs(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	patched(t, webhooks+"/polex-guard", "replace", "/webhooks/0/timeoutSeconds", "1")
	ns := namespace(t)
	target := cluster.Target{Group: "policies.kyverno.io", Version: "v1", Namespace: ns}
	sealed := seal(t, draft{name: "a", namespace: ns}.policies("v1"))[0]
	if err := i.group.Pause(Program); err != nil {
		t.Fatal(err)
	}
	defer i.group.Continue(Program) //nolint:errcheck // it may go on by now
	for _, text := range []string{sealed, draft{name: "b", namespace: ns}.policies("v1")} {
		i.until(t, "the API server to give up in time", func(ctx context.Context) error {
			answer, err := live.Create(ctx, target, []byte(text))
			if err == nil && (answer.OK() || !strings.Contains(answer.Message(), "failed calling webhook")) {
				err = fmt.Errorf("%d %s", answer.Code, answer.Message())
			}
			return err
		})
	}
	if got := stored(t, target); len(got) != 0 {
		t.Errorf("there are %q", got)
	}
	if err := i.group.Continue(Program); err != nil {
		t.Fatal(err)
	}
	i.until(t, "the guard to answer", func(ctx context.Context) error {
		answer, err := live.Create(ctx, target, []byte(sealed))
		if err == nil && answer.Code != http.StatusCreated {
			err = errors.New(answer.Message())
		}
		return err
	})
}

// TestAPIServerRestarts: after a restart of the API server, the guard is called again, checks
// existing exceptions again, and deletes expired ones.
func TestAPIServerRestarts(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	ns := namespace(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}
	short := seal(t, draft{name: "short", namespace: ns, lives: 20 * time.Second}.legacy("v2"))[0]
	create(t, target, short).want(t, http.StatusCreated)
	restartAPIServer(t)
	i.asked(t)
	create(t, target, widened(t, seal(t, draft{name: "wide", namespace: ns}.legacy("v2"))[0])).refusedFor(t, "altered")
	create(t, target, seal(t, draft{name: "honest", namespace: ns}.legacy("v2"))[0]).want(t, http.StatusCreated)
	gone(t, i, target, "short", short)
	i.until(t, "the guard to lead and be ready", func(ctx context.Context) error {
		return errors.Join(i.ready(ctx), i.measures(ctx, "polex_guard_leader 1"))
	})
	// New changes are seen too, not only those planned before.
	next := seal(t, draft{name: "next", namespace: ns, lives: 3 * time.Second}.legacy("v2"))[0]
	create(t, target, next).want(t, http.StatusCreated)
	gone(t, i, target, "next", next)
	if got := stored(t, target); !slices.Equal(got, []string{"honest"}) {
		t.Errorf("there are %q", got)
	}
}

func restartAPIServer(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitLimit)
	defer cancel()
	if err := live.RestartAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestEtcdStops: an exception that expires while nothing can be stored is deleted afterwards, once.
// Nothing else is deleted, not even a new exception with the same name.
func TestEtcdStops(t *testing.T) {
	withoutKyverno(t) // it ends when it cannot renew its Lease
	i := settings{}.run(t)
	i.register(t)
	ns := namespace(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}
	i.until(t, "the guard to lead", func(ctx context.Context) error { return i.measures(ctx, "polex_guard_leader 1") })
	namesake := seal(t, draft{name: "short", namespace: ns}.legacy("v2"))[0]
	sealed := seal(t, draft{name: "short", namespace: ns, lives: 5 * time.Second}.legacy("v2"), draft{name: "long", namespace: ns}.legacy("v2"))
	create(t, target, sealed[0]).want(t, http.StatusCreated)
	create(t, target, sealed[1]).want(t, http.StatusCreated)
	if err := live.Pause(cluster.Etcd); err != nil {
		t.Fatal(err)
	}
	defer live.Continue(cluster.Etcd) //nolint:errcheck // it goes on by now, unless the test failed
	// It expires, and the lease runs out.
	i.until(t, "the guard to feel it", func(ctx context.Context) error { return i.measures(ctx, "polex_guard_leader 0") })
	if time.Now().Before(endOf(t, sealed[0])) {
		t.Fatal("etcd did not stop for long enough")
	}
	if err := live.Continue(cluster.Etcd); err != nil {
		t.Fatal(err)
	}
	gone(t, i, target, "short", sealed[0])
	create(t, target, namesake).want(t, http.StatusCreated)
	// When another exception is deleted, the controller has checked all since.
	last := seal(t, draft{name: "last", namespace: ns, lives: 3 * time.Second}.legacy("v2"))[0]
	create(t, target, last).want(t, http.StatusCreated)
	gone(t, i, target, "last", last)
	if got := stored(t, target); !slices.Equal(got, []string{"long", "short"}) {
		t.Errorf("there are %q", got)
	}
	i.until(t, "the deletions to be counted", func(ctx context.Context) error {
		return i.measures(ctx, `polex_guard_deletions_total{reason="expired"} 2`)
	})
	i.until(t, "the Events", func(ctx context.Context) error { return tells(ctx, ns, "Removed", "last", "short") })
}

// tells expects that the Events of a reason in a namespace are about these objects, each once.
func tells(ctx context.Context, ns, reason string, want ...string) error {
	answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: "/apis/events.k8s.io/v1/namespaces/" + ns + "/events"})
	if err != nil {
		return err
	}
	var list struct {
		Items []struct {
			Reason    string
			Regarding struct{ Name string }
			Series    json.RawMessage
		}
	}
	if err := decodeAnswer(answer, &list); err != nil {
		return err
	}
	var got []string
	for _, event := range list.Items {
		if event.Reason != reason {
			continue
		}
		got = append(got, event.Regarding.Name)
		if event.Series != nil {
			got = append(got, event.Regarding.Name) // also duplicates
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Errorf("Events %s are about %q, not %q", reason, got, want)
	}
	return nil
}

// TestLeaderKilled: after the leader is killed, the other guard becomes the leader and deletes
// expired exceptions.
func TestLeaderKilled(t *testing.T) {
	first := settings{}.run(t)
	first.until(t, "the first guard to lead", func(ctx context.Context) error { return first.measures(ctx, "polex_guard_leader 1") })
	second := settings{}.run(t)
	ns := namespace(t)
	target := cluster.Target{Group: "policies.kyverno.io", Version: "v1", Namespace: ns}
	short := seal(t, draft{name: "short", namespace: ns, lives: 3 * time.Second}.policies("v1"))[0]
	if err := second.measures(t.Context(), "polex_guard_leader 0"); err != nil {
		t.Fatal(err)
	}
	if err := first.group.Kill(Program); err != nil {
		t.Fatal(err)
	}
	create(t, target, short).want(t, http.StatusCreated)
	gone(t, second, target, "short", short)
	second.until(t, "the second to have deleted it", func(ctx context.Context) error {
		return errors.Join(second.measures(ctx, "polex_guard_leader 1"), second.measures(ctx, `polex_guard_deletions_total{reason="expired"} 1`))
	})
}
