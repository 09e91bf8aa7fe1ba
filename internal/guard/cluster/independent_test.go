package cluster_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/guard/cluster"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestKindsAreIndependent: a kind that cannot be found, listed or watched is reported once, and the objects of the
// other kind are known, counted and told all the same. It is known again once it can be watched.
func TestKindsAreIndependent(t *testing.T) {
	for name, fault := range map[string]struct {
		at   string // of the path, or "watch"
		code int    // 0: it hangs
	}{
		"neither found nor listed": {"/apis/policies.kyverno.io", http.StatusForbidden},
		"not listed":               {"/policyexceptions", http.StatusForbidden},
		"its conversion fails":     {"/policyexceptions", http.StatusInternalServerError},
		"its list hangs":           {"/policyexceptions", 0},
		"not watched":              {"watch", http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			s, api := serve(t)
			s.versions["policies.kyverno.io"] = []string{"v1", "v1beta1"}
			s.put("a", nil)
			broken := make(chan struct{})
			s.refuse = func(r *http.Request) (int, <-chan struct{}) {
				of := strings.HasPrefix(r.URL.Path, "/apis/policies.kyverno.io")
				if !of || !strings.Contains(r.URL.Path, fault.at) && (fault.at != "watch" || r.URL.Query().Get("watch") == "") {
					return 0, nil
				}
				select {
				case <-broken:
					return 0, nil
				default:
				}
				if fault.code == 0 {
					return 0, broken
				}
				return fault.code, nil
			}
			store := cluster.NewStore(api)
			var mu sync.Mutex
			sees := map[exception.GroupKind]bool{}
			store.Watching = func(kind exception.GroupKind, yes bool) {
				mu.Lock()
				defer mu.Unlock()
				sees[kind] = yes
			}
			isSeen := func(kind exception.GroupKind) (yes, told bool) {
				mu.Lock()
				defer mu.Unlock()
				yes, told = sees[kind]
				return yes, told
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			failed := make(chan string, 100)
			both := []exception.GroupKind{kyverno.ConditionKind, kind}
			go store.Watch(ctx, func() []exception.GroupKind { return both }, func(err error) { failed <- err.Error() })
			eventually(t, "the other kind", func() bool {
				states, watched := store.States(kind)
				return watched && len(states) == 1
			})
			touched := make(chan string, 100)
			store.Notify(func(id exception.Identity) { touched <- id.Name }, nil, nil)
			s.put("b", nil)
			expect.Is(t, "touched", "b", next(t, touched))
			n, err := store.Count(ctx, kind, "x")
			expect.That(t, n == 2 && err == nil, "%d, %v", n, err)
			_, watched := store.States(kyverno.ConditionKind)
			expect.That(t, !watched, "the kind counts as watched")
			yes, told := isSeen(kyverno.ConditionKind)
			expect.That(t, !yes && told, "nobody hears at once that the kind is not seen: %t, %t", yes, told)
			yes, _ = isSeen(kind)
			expect.That(t, yes, "nobody hears that the other kind is seen")
			if fault.code != 0 {
				got := next(t, failed)
				expect.That(t, strings.Contains(got, "PolicyException.policies.kyverno.io"), "%v", got)
			}
			close(broken)
			eventually(t, "the kind to be watched", func() bool { _, watched := store.States(kyverno.ConditionKind); return watched })
			yes, _ = isSeen(kyverno.ConditionKind)
			expect.That(t, yes, "nobody hears that it is seen again")
			if len(failed) > 0 {
				t.Errorf("it is told again: %s", <-failed)
			}
		})
	}
}

// TestWatchEnds: after a watch ended, all objects of the kind are read again, because their contents
// may have changed with their definition. What the watch told before is not used.
func TestWatchEnds(t *testing.T) {
	s, api := serve(t)
	s.put("a", nil)
	store, touched := watching(t, s, api)
	s.put("a", func(o object) { o["spec"] = object{"n": 2} })
	got := next(t, touched)
	must.That(t, got == "a", "%v", got)
	s.mu.Lock() // without news, as after another schema
	s.objects["kyverno.io/namespaces/x/policyexceptions/a"]["spec"] = object{"n": 3}
	s.mu.Unlock()
	s.endWatches()
	got = next(t, touched)
	must.That(t, got == "renewed", "%v", got)
	o := must.Get(store.Read(t.Context(), id("a"), ""))(t)
	n, _ := o.Document.Lookup("spec", "n")
	expect.That(t, n == int64(3), "it reads %v", n)
}

// limits fails a request that may last for ever.
type limits struct {
	t    *testing.T
	next http.RoundTripper
	seen chan string
}

func (l limits) RoundTrip(r *http.Request) (*http.Response, error) {
	_, limited := r.Context().Deadline()
	expect.That(l.t, limited, "%s %s has no time limit", r.Method, r.URL)
	l.seen <- r.Method
	return l.next.RoundTrip(r)
}

// TestTimeLimits: every request to the API server has a time limit.
func TestTimeLimits(t *testing.T) {
	s, _ := serve(t)
	s.versions["openreports.io"], s.versions["events.k8s.io"] = []string{"v1alpha1"}, []string{"v1"}
	s.versions["apiextensions.k8s.io"] = []string{"v1"}
	s.put("a", nil)
	seen := make(chan string, 1000)
	api := must.Get(cluster.NewAPI(&rest.Config{Host: s.url}, &http.Client{Transport: limits{t,
		http.DefaultTransport, seen}}))(t)
	store, _ := watching(t, s, api)
	definitions := cluster.Definitions{API: api, Known: &guard.Definitions{}, Failed: func(error) {},
		Changed: func(exception.GroupKind, string, string) {}, Watching: func(exception.GroupKind, bool) {}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go definitions.Run(ctx)
	eventually(t, "the watches", func() bool { return s.watched(3) })
	expect.NoError(t, store.Scan(ctx, kind, func(*guard.Object) {}))
	o := must.Get(store.Read(ctx, id("a"), "v2beta1"))(t)
	reports := &cluster.Reports{API: api}
	for _, found := range [][]*guard.Finding{{{Decision: guard.Decision{Object: id("a"), Reason: "unsigned"}}}, nil} {
		expect.NoError(t, reports.Write(ctx, found))
	}
	expect.NoError(t, store.Delete(ctx, id("a"), o.State))
	var methods []string
	for len(seen) > 0 {
		methods = append(methods, <-seen)
	}
	slices.Sort(methods)
	expect.Is(t, "requests", "[DELETE GET POST]", fmt.Sprint(slices.Compact(methods)))
}

// TestWithoutDiscovery: a user who takes the right to discovery from the guard does not make it
// blind for exceptions. Other kinds need discovery.
func TestWithoutDiscovery(t *testing.T) {
	s, api := serve(t)
	s.versions["policies.kyverno.io"] = []string{"v1", "v1beta1"}
	s.put("a", nil)
	s.refuse = func(r *http.Request) (int, <-chan struct{}) {
		if strings.Count(r.URL.Path, "/") <= 3 { // a group, or a version
			return http.StatusForbidden, nil
		}
		return 0, nil
	}
	var got []string
	show := func(o *guard.Object) { got = append(got, o.Identity.Name+" "+o.Version) }
	for _, gk := range kyverno.Kinds() {
		err := cluster.NewStore(api).Scan(t.Context(), gk, show)
		expect.That(t, err == nil, "%s: %v", gk, err)
	}
	expect.That(t, slices.Equal(got, []string{"a v2"}), "it found %q", got)
	err := cluster.NewStore(api).Scan(t.Context(), exception.GroupKind{Group: "kyverno.io", Kind: "Policy"}, show)
	expect.That(t, err != nil, "it found a kind that only discovery tells")
}
