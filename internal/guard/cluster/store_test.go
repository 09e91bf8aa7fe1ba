package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/guard/cluster"
	"github.com/polex-dev/polex/pkg/exception"
)

var kinds = []exception.GroupKind{kind}

// watching returns a store that watches until the test ends, and the objects that it touches.
func watching(t *testing.T, s *server, api *cluster.API) (*cluster.Store, chan string) {
	t.Helper()
	store := cluster.NewStore(api)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go store.Watch(ctx, func() []exception.GroupKind { return kinds }, func(err error) { t.Log(err) })
	touched := make(chan string, 100)
	eventually(t, "the watch", func() bool { return s.watched(1) })
	store.Notify(func(id exception.Identity) { touched <- id.Name }, func(exception.GroupKind) { touched <- "renewed" },
		func(id exception.Identity, version string, state guard.State) {
			touched <- fmt.Sprintf("deleted %s %s %s", id.Name, version, state.UID)
		})
	return store, touched
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.After(30 * time.Second)
	for !is() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s does not come", what)
		}
	}
}

func next(t *testing.T, touched chan string) string {
	t.Helper()
	select {
	case name := <-touched:
		return name
	case <-time.After(30 * time.Second):
		t.Fatal("nothing is touched")
		return ""
	}
}

func names(t *testing.T, store *cluster.Store) []string {
	t.Helper()
	states, _ := store.States(kind)
	var all []string
	for id := range maps.Keys(states) {
		all = append(all, id.Name)
	}
	slices.Sort(all)
	return all
}

// TestStoreWatches: the store knows all objects, from pages at first and then from events, and
// returns the object of an event without another request.
func TestStoreWatches(t *testing.T) {
	s, api := serve(t)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.put(name, nil)
	}
	store, touched := watching(t, s, api)
	if diff := cmp.Diff([]string{"a", "b", "c", "d", "e"}, names(t, store)); diff != "" {
		t.Fatal(diff)
	}
	s.put("f", nil)
	s.put("a", func(o object) { o["spec"] = object{"n": int64(1) << 60} })
	s.remove("b")
	if got := []string{next(t, touched), next(t, touched), next(t, touched), next(t, touched)}; !slices.Equal(got, []string{"f", "a", "deleted b v2 u-b", "b"}) {
		t.Fatalf("touched %q", got)
	}
	if diff := cmp.Diff([]string{"a", "c", "d", "e", "f"}, names(t, store)); diff != "" {
		t.Fatal(diff)
	}
	if n, err := store.Count(t.Context(), kind, "x"); n != 5 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	before := s.requests("GET /apis/kyverno.io/v2/namespaces")
	o, err := store.Read(t.Context(), id("a"), "")
	if err != nil || o.Unreadable != nil || o.UID != "u-a" || o.Version != "v2" {
		t.Fatalf("%+v, %v", o, err)
	}
	if n, _ := o.Document.Lookup("spec", "n"); n != int64(1)<<60 {
		t.Errorf("the number is %v", n)
	}
	if s.requests("GET /apis/kyverno.io/v2/namespaces") != before {
		t.Error("it was read though it was told")
	}
	if _, err := store.Read(t.Context(), id("a"), ""); err != nil || s.requests("GET /apis/kyverno.io/v2/namespaces") != before+1 {
		t.Errorf("it was told long ago, and not read: %v", err)
	}
	if _, err := store.Read(t.Context(), id("b"), ""); !errors.Is(err, guard.ErrGone) {
		t.Errorf("of what is gone: %v", err)
	}
	// The resource version is too old for a watch, so everything is listed again.
	s.mu.Lock()
	delete(s.objects, "kyverno.io/namespaces/x/policyexceptions/c")
	s.tell("kyverno.io/policyexceptions", object{"type": "ERROR", "object": object{"kind": "Status", "code": 410, "message": "too old"}})
	s.mu.Unlock()
	if got := []string{next(t, touched), next(t, touched)}; !slices.Equal(got, []string{"deleted c v2 u-c", "renewed"}) {
		t.Errorf("touched %q", got)
	}
}

// TestStoreTellsDeletions: a deletion by this guard is not reported as one by another client. A
// deletion while no guard has the lease is reported by the next one that gets it.
func TestStoreTellsDeletions(t *testing.T) {
	s, api := serve(t)
	for _, name := range []string{"a", "b", "c"} {
		s.put(name, nil)
	}
	store, touched := watching(t, s, api)
	states, _ := store.States(kind)
	if err := store.Delete(t.Context(), id("a"), states[id("a")]); err != nil {
		t.Fatal(err)
	}
	if err := store.Delete(t.Context(), id("a"), states[id("a")]); !errors.Is(err, guard.ErrGone) { // one of several requests
		t.Error(err)
	}
	s.mu.Lock()
	s.tell("kyverno.io/policyexceptions", object{"type": "DELETED", "object": object{"metadata": object{"name": "a", "namespace": "x", "uid": "u-a"}}})
	s.mu.Unlock()
	if got := next(t, touched); got != "a" {
		t.Errorf("touched %q", got)
	}
	store.Notify(nil, nil, nil)
	s.remove("b")
	eventually(t, "the news", func() bool { return len(names(t, store)) == 1 })
	store.Notify(nil, nil, func(id exception.Identity, _ string, _ guard.State) { touched <- "deleted " + id.Name })
	if got := next(t, touched); got != "deleted b" {
		t.Errorf("told %q", got)
	}
}

// TestStoreScans: Scan returns all objects, including unreadable ones.
func TestStoreScans(t *testing.T) {
	s, api := serve(t)
	s.put("a", nil)
	s.put("dying", func(o object) { metadata(o)["deletionTimestamp"] = "2026-01-01T00:00:00Z" })
	s.put("deep", func(o object) {
		var v any = "x"
		for range 70 {
			v = []any{v}
		}
		o["spec"] = object{"v": v}
	})
	var got []string
	show := func(o *guard.Object) {
		got = append(got, fmt.Sprintf("%s %s %v %v", o.Identity.Name, o.UID, o.Dying, o.Unreadable == nil))
	}
	store := cluster.NewStore(api)
	err := store.Scan(t.Context(), kind, show)
	if err := store.Scan(t.Context(), exception.GroupKind{Group: "nowhere.example", Kind: "Sprocket"}, show); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"a u-a false true", "deep u-deep false false", "dying u-dying true true"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// TestStoreUnderOtherNames: the status of the definition can give exceptions another kind and plural
// in the list of resources. Kyverno still reads them at their path, and so does the store.
func TestStoreUnderOtherNames(t *testing.T) {
	s, api := serve(t)
	s.kinds = map[string]string{"things": "Thing"}
	s.put("a", func(o object) { o["kind"] = "Thing" })
	var got []string
	if err := cluster.NewStore(api).Scan(t.Context(), kind, func(o *guard.Object) { got = append(got, o.Identity.String()) }); err != nil {
		t.Fatal(err)
	}
	store, _ := watching(t, s, api)
	if diff := cmp.Diff([]string{id("a").String()}, got); diff != "" || !slices.Equal(names(t, store), []string{"a"}) {
		t.Error(diff, names(t, store))
	}
}

// TestStoreWithoutAPIServices: discovery names only the versions that have an APIService, which a user
// can delete. The API server still serves the others, and Kyverno reads them.
func TestStoreWithoutAPIServices(t *testing.T) {
	s, api := serve(t)
	s.named = []string{"v9"}
	s.put("a", nil)
	store, _ := watching(t, s, api)
	if got := names(t, store); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%q", got)
	}
}

// TestStoreReadsVersions: Read distinguishes a missing object from a version that is not served,
// and no text of an object becomes part of a path.
func TestStoreReadsVersions(t *testing.T) {
	s, api := serve(t)
	s.put("a", nil)
	store, _ := watching(t, s, api)
	for version, want := range map[string]error{"v2": nil, "v2beta1": nil, "v9": guard.ErrNotServed, "../../../api/v1/secrets": guard.ErrNotServed} {
		o, err := store.Read(t.Context(), id("a"), version)
		if !errors.Is(err, want) || o == nil || o.UID != "u-a" {
			t.Errorf("%s: %+v, %v", version, o, err)
		}
	}
	if n := s.requests("GET /api/"); n != 0 {
		t.Error("a path was made of a version")
	}
	s.mu.Lock()
	delete(s.objects, "kyverno.io/namespaces/x/policyexceptions/a")
	s.mu.Unlock()
	if _, err := store.Read(t.Context(), id("a"), "v2beta1"); !errors.Is(err, guard.ErrGone) {
		t.Errorf("what is gone: %v", err)
	}
}

// TestStoreDeletes: Delete deletes only the judged state, in the background, and reports an object
// that stays.
func TestStoreDeletes(t *testing.T) {
	s, api := serve(t)
	s.put("a", nil)
	s.put("held", func(o object) { metadata(o)["finalizers"] = []any{"a/b"} })
	store, _ := watching(t, s, api)
	states, _ := store.States(kind)
	old := states[id("a")]
	old.ResourceVersion = "0"
	another := states[id("a")]
	another.UID = "u-other"
	for _, tc := range []struct {
		name  string
		state guard.State
		want  error
	}{
		{"a", old, guard.ErrGone}, {"a", another, guard.ErrGone}, {"held", states[id("held")], guard.ErrHeld}, {"a", states[id("a")], nil}, {"a", states[id("a")], guard.ErrGone},
	} {
		if err := store.Delete(t.Context(), id(tc.name), tc.state); !errors.Is(err, tc.want) {
			t.Errorf("%s %v: %v, want %v", tc.name, tc.state, err, tc.want)
		}
	}
	for _, body := range s.bodies {
		if !strings.Contains(body, `"propagationPolicy":"Background"`) || !strings.Contains(body, `"uid":"u-`) {
			t.Errorf("it asks for %s", body)
		}
	}
}
