//go:build e2e

package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
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
			must.Do(t, live.CreateNamespace(t.Context(), kept.Namespace))
			ends := fill(t, kept, many, 75*time.Second)
			must.That(t, !time.Now().After(ends), "it took too long to create them")
			if way.flooded > 0 {
				end = i.flood(t, bare.Namespace, way.flooded)
			}
			defer func() { end() }()
			began := time.Now()
			inParallel(many, func(n int) {
				if answer, err := live.Delete(t.Context(), bare.Path(numbered(n))); err != nil || !answer.OK() {
					t.Errorf("%v: %s", err, answer.Message())
				}
			})
			loop := time.Since(began)
			i.until(t, "all of them to be gone", noneAt(kept))
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

// noneAt checks that a namespace has no exception of a kind.
func noneAt(target cluster.Target) check {
	return func(ctx context.Context) error {
		var list struct{ Items []struct{} }
		err := cluster.Into(&list)(live.Get(ctx, target.Path("")+"?limit=1"))
		if err == nil && len(list.Items) > 0 {
			err = errors.New("there are some")
		}
		return err
	}
}

// TestLeaseForYears: a Lease with a duration of years counts no longer than a Lease of a guard.
func TestLeaseForYears(t *testing.T) {
	const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	remove(t, leases+"/polex-guard")
	post(t, leases, fmt.Appendf(nil, `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: polex-guard},
spec: {holderIdentity: somebody, leaseDurationSeconds: 1000000000, leaseTransitions: 1, acquireTime: %[1]q, renewTime: %[1]q}}`, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"))).want(t, http.StatusCreated)
	i := settings{}.run(t)
	i.until(t, "the guard to lead", i.leads)
}

// TestHarmlessUpdates: clients that write an exception all the time in ways that need no signature
// do not keep it beyond its end, with the webhook and without it. It prints how long that takes.
func TestHarmlessUpdates(t *testing.T) {
	const clients = 48
	withStatus(t)
	i := settings{}.run(t)
	for _, registered := range []bool{false, true} {
		if registered {
			i.register(t)
		}
		for name, update := range map[string]func(n, round int) (path, contentType, body string){
			"fields": func(n, round int) (string, string, string) {
				return fmt.Sprintf("?force=true&fieldManager=m%d-%d", n, round%50), "application/apply-patch+yaml", `{"spec":{"background":true}}`
			},
			"status": func(n, round int) (string, string, string) {
				return "/status", "application/merge-patch+json", fmt.Sprintf(`{"status":{"n":"%d-%d"}}`, n, round)
			},
		} {
			t.Run(fmt.Sprintf("%s-%t", name, registered), func(t *testing.T) {
				target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: namespace(t)}
				d := draft{name: "kept", namespace: target.Namespace, lives: 15 * time.Second}
				sealed := seal(t, d.legacy("v2"))[0]
				create(t, target, sealed).want(t, http.StatusCreated)
				var stored struct{ Spec map[string]any }
				must.Do(t, json.Unmarshal(read(t, target.Path("kept")).Body, &stored))
				whole := must.Get(json.Marshal(map[string]any{"apiVersion": "kyverno.io/v2", "kind": "PolicyException",
					"metadata": map[string]any{"name": "kept", "namespace": target.Namespace}, "spec": stored.Spec}))(t)
				ctx, cancel := context.WithCancel(t.Context())
				var updates, late atomic.Int64
				var running sync.WaitGroup
				defer running.Wait()
				defer cancel()
				end := endOf(t, sealed)
				for n := range clients {
					running.Go(func() {
						for round := 0; ctx.Err() == nil; round++ {
							path, contentType, body := update(n, round)
							if strings.HasPrefix(path, "?") {
								body = string(whole)
							}
							request := cluster.Request{Method: http.MethodPatch, Path: target.Path("kept") + path, ContentType: contentType, Body: []byte(body)}
							answer, err := live.Do(ctx, request)
							if err != nil || !answer.OK() {
								continue
							}
							if updates.Add(1); time.Now().After(end) {
								late.Add(1)
							}
							if answer.Code == http.StatusCreated { // applied again after its end, without the webhook
								return
							}
						}
					})
				}
				i.until(t, "its deletion by the guard", contains(eventsOf(target.Namespace), `"reason":"Removed"`))
				took := time.Since(end)
				cancel()
				running.Wait()
				t.Logf("deleted %s after its end, beside %d updates, %d of them after its end", took.Round(time.Millisecond), updates.Load(), late.Load())
				expect.That(t, updates.Load() != 0, "no update succeeded")
			})
		}
	}
}

// TestExpiry: exceptions are deleted at their expiry, not earlier, by any guard that holds the lease.
func TestExpiry(t *testing.T) {
	ns := namespace(t)
	first := settings{}.run(t)
	first.register(t)
	legacy, policies := served[0], served[2]
	legacy.Namespace, policies.Namespace = ns, ns
	first.until(t, "the first guard to lead", first.leads)
	ends(t, first, legacy, 5*time.Second)
	ends(t, first, policies, 5*time.Second)

	second := settings{}.run(t)
	sealed := seal(t, draft{name: "handed-over", namespace: ns, lives: 8 * time.Second}.legacy("v2"))[0]
	create(t, legacy, sealed).want(t, http.StatusCreated)
	unregister(t)
	first.group.Stop()
	gone(t, second, legacy, "handed-over", sealed)
	expect.NoError(t, second.leads(t.Context()))
}

// ends creates an exception with a short lifetime, and compares the time of its deletion with the signed expiry.
func ends(t *testing.T, i *instance, target cluster.Target, lives time.Duration) {
	t.Helper()
	sealed := seal(t, draft{name: "short", namespace: target.Namespace, lives: lives}.in(target))[0]
	create(t, target, sealed).want(t, http.StatusCreated)
	end := gone(t, i, target, "short", sealed)
	if late := time.Since(end); late < 0 {
		t.Errorf("it went %s too soon", -late)
	} else {
		t.Logf("it was seen to be gone %s after its end", late.Round(time.Millisecond))
	}
	create(t, target, sealed).refusedFor(t, "expired")
}

// gone waits until an exception is deleted, and returns its expiry.
func gone(t *testing.T, i *instance, target cluster.Target, name, sealed string) time.Time {
	t.Helper()
	i.until(t, "the exception to end", gonePath(target.Path(name)))
	return endOf(t, sealed)
}
