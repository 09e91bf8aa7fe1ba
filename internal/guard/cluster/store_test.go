package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/guard/cluster"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var kinds = []exception.GroupKind{kind}

// watching returns a store that watches until the test ends, and the objects that it touches.
func watching(t *testing.T, s *server, api *cluster.API) (*cluster.Store, chan string) {
	t.Helper()
	store := newStore(t, api)
	go store.Watch(func() []exception.GroupKind { return kinds })
	touched := make(chan string, 100)
	eventually(t, "the watch", func() bool { return s.watched(1) })
	store.Notify(func(id exception.Identity) { touched <- id.Name }, func(exception.GroupKind) { touched <- "renewed" },
		func(id exception.Identity, version string, state guard.State) {
			touched <- fmt.Sprintf("deleted %s %s %s", id.Name, version, state.UID)
		})
	return store, touched
}

// newStore returns a store that watches until the test ends.
func newStore(t *testing.T, api *cluster.API) *cluster.Store {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return cluster.NewStore(ctx, api, func(error) {})
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

// TestStoreWatches: the store knows all objects, from pages at first and then from events, and reads
// their contents on demand.
func TestStoreWatches(t *testing.T) {
	s, api := serve(t)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.put(name, nil)
	}
	store, touched := watching(t, s, api)
	diff := cmp.Diff([]string{"a", "b", "c", "d", "e"}, names(t, store))
	must.That(t, diff == "", "%v", diff)
	s.put("f", nil)
	s.put("a", func(o object) { o["spec"] = object{"n": int64(1) << 60} })
	s.remove("b")
	got := []string{next(t, touched), next(t, touched), next(t, touched), next(t, touched)}
	must.That(t, slices.Equal(got, []string{"f", "a", "deleted b v2 u-b", "b"}), "touched %q", got)
	diff = cmp.Diff([]string{"a", "c", "d", "e", "f"}, names(t, store))
	must.That(t, diff == "", "%v", diff)
	if n, err := store.Count(t.Context(), kind, "x"); n != 5 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	o, err := store.Read(t.Context(), id("a"), "")
	must.That(t, err == nil && o.Unreadable == nil && o.UID == "u-a" && o.Version == "v2", "%+v, %v", o, err)
	n, _ := o.Document.Lookup("spec", "n")
	expect.That(t, n == int64(1)<<60, "the number is %v", n)
	_, err = store.Read(t.Context(), id("b"), "")
	expect.Cause(t, err, guard.ErrGone)
	// The resource version is too old for a watch, so everything is listed again.
	s.mu.Lock()
	delete(s.objects, "kyverno.io/namespaces/x/policyexceptions/c")
	s.tell("kyverno.io/policyexceptions", object{"type": "ERROR", "object": object{"apiVersion": "v1", "kind": "Status", "code": 410, "message": "too old"}})
	s.mu.Unlock()
	got = []string{next(t, touched), next(t, touched)}
	expect.That(t, slices.Equal(got, []string{"deleted c v2 u-c", "renewed"}), "touched %q", got)
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
	must.Do(t, store.Delete(t.Context(), id("a"), states[id("a")]))
	if err := store.Delete(t.Context(), id("a"), states[id("a")]); !errors.Is(err, guard.ErrGone) { // one of several requests
		t.Error(err)
	}
	s.mu.Lock()
	s.tell("kyverno.io/policyexceptions", object{"type": "DELETED", "object": object{"apiVersion": "kyverno.io/v2", "kind": "PolicyException", "metadata": object{"name": "a", "namespace": "x", "uid": "u-a"}}})
	s.mu.Unlock()
	expect.Is(t, "touched", "a", next(t, touched))
	store.Notify(nil, nil, nil)
	s.remove("b")
	eventually(t, "the news", func() bool { return len(names(t, store)) == 1 })
	store.Notify(nil, nil, func(id exception.Identity, _ string, _ guard.State) { touched <- "deleted " + id.Name })
	expect.Is(t, "touched", "deleted b", next(t, touched))
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
	store := newStore(t, api)
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
	must.Do(t, newStore(t, api).Scan(t.Context(), kind, func(o *guard.Object) { got = append(got, o.Identity.String()) }))
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
	got := names(t, store)
	expect.That(t, slices.Equal(got, []string{"a"}), "%q", got)
}

// TestStoreReadsVersions: Read distinguishes a missing object from a version that is not served,
// and no text of an object becomes part of a path.
func TestStoreReadsVersions(t *testing.T) {
	s, api := serve(t)
	s.put("a", nil)
	store, _ := watching(t, s, api)
	for version, want := range map[string]error{"v2": nil, "v2beta1": nil, "v9": guard.ErrNotServed, "../../../api/v1/secrets": guard.ErrNotServed} {
		o, err := store.Read(t.Context(), id("a"), version)
		expect.That(t, errors.Is(err, want) && o != nil && o.UID == "u-a", "%s: %+v, %v", version, o, err)
	}
	expect.That(t, s.requests("GET /api/") == 0, "a path was made of a version")
	s.mu.Lock()
	delete(s.objects, "kyverno.io/namespaces/x/policyexceptions/a")
	s.mu.Unlock()
	_, err := store.Read(t.Context(), id("a"), "v2beta1")
	expect.Cause(t, err, guard.ErrGone)
}

// TestStoreDeletes: Delete deletes only the judged state, in the background, and reports an object that stays.
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
		err := store.Delete(t.Context(), id(tc.name), tc.state)
		expect.That(t, errors.Is(err, tc.want), "%s %v: %v, want %v", tc.name, tc.state, err, tc.want)
	}
	for _, body := range s.bodies {
		if !strings.Contains(body, `"propagationPolicy":"Background"`) || !strings.Contains(body, `"uid":"u-`) {
			t.Errorf("it asks for %s", body)
		}
	}
}

const definition = `
spec:
  group: kyverno.io
  conversion: {strategy: None}
  versions:
  - name: v2
    served: true
    schema: {openAPIV3Schema: {properties: {spec: {description: one, properties: {match: {type: object, description: two}, description: {type: string}}}}}}
  - name: v2beta1
    served: true
    schema: {openAPIV3Schema: {properties: {spec: {description: other, properties: {match: {type: object}, description: {type: string}}}}}}
  - name: v2alpha1
    served: false
    schema: {openAPIV3Schema: {properties: {spec: {properties: {other: {type: object}}}}}}
status:
  acceptedNames: {plural: policyexceptions, singular: policyexception, kind: PolicyException, listKind: PolicyExceptionList}
  conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "True"}]
`

// TestConversion: a conversion that can show two clients different exceptions is reported.
func TestConversion(t *testing.T) {
	for _, tc := range []struct{ name, old, new, want string }{
		{name: "as Kyverno's are"},
		{name: "no strategy", old: "conversion: {strategy: None}", new: "conversion: {}"},
		{name: "a webhook", old: "strategy: None", new: "strategy: Webhook, webhook: {clientConfig: {url: 'https://x.example'}}", want: "https://x.example"},
		{name: "a Service", old: "strategy: None", new: "strategy: Webhook, webhook: {clientConfig: {service: {namespace: a, name: b}}}", want: "the Service a/b"},
		{name: "another version leaves a field out", old: "properties: {match: {type: object}, ", new: "properties: {", want: `"v2beta1", which is not that of "v2"`},
		{name: "another version adds a default", old: "match: {type: object}", new: "match: {type: object, default: {}}", want: `"v2beta1"`},
		{name: "a field that is called like a text", old: "match: {type: object}, description: {type: string}", new: "match: {type: object}", want: `"v2beta1"`},
		{name: "another version keeps unknown fields", old: "{openAPIV3Schema: {properties: {spec: {description: other,", new: "{openAPIV3Schema: {x-kubernetes-preserve-unknown-fields: true, properties: {spec: {description: other,", want: `"v2beta1"`},
		{name: "another version has one more field beside spec", old: "{openAPIV3Schema: {properties: {spec: {description: other,", new: "{openAPIV3Schema: {properties: {more: {type: object}, spec: {description: other,", want: `"v2beta1"`},
		{name: "a version that is served anew", old: "served: false", new: "served: true", want: `"v2alpha1"`},
		{name: "not the version that Kyverno reads", old: "  - name: v2\n    served: true", new: "  - name: v2\n    served: false", want: `the version "v2", which Kyverno reads`},
		{name: "without the version that Kyverno reads", old: "- name: v2\n", new: "- name: v3\n", want: `the version "v2", which Kyverno reads`},
		{name: "served is a text", old: "  - name: v2\n    served: true", new: "  - name: v2\n    served: 'true'", want: `the version "v2", which Kyverno reads`},
		{name: "Established twice", old: `{type: Established, status: "True"}`, new: `{type: Established, status: "False"}, {type: Established, status: "True"}`, want: "no single condition Established"},
		{name: "Established twice, first as it is", old: `{type: Established, status: "True"}`, new: `{type: Established, status: "True"}, {type: Established, status: "False"}`, want: "no single condition Established"},
		{name: "no longer established", old: `{type: Established, status: "True"}`, new: `{type: Established, status: "False"}`, want: "no single condition Established"},
		{name: "no names yet", old: "{plural: policyexceptions, singular: policyexception, kind: PolicyException, listKind: PolicyExceptionList}\n  conditions:", new: "{}\n  other:"},
		{name: "no names, and served", old: "plural: policyexceptions, singular: policyexception, kind: PolicyException, listKind: PolicyExceptionList", new: "plural: '', kind: ''", want: `in its status, which is not`},
		{name: "another plural", old: "plural: policyexceptions", new: "plural: things", want: `the plural "things" in its status, which is not "policyexceptions"`},
		{name: "another kind", old: "kind: PolicyException", new: "kind: Thing", want: `the kind "Thing"`},
		{name: "another kind of lists", old: "listKind: PolicyExceptionList", new: "listKind: Things", want: `the listKind "Things"`},
		{name: "no singular", old: "singular: policyexception, ", new: "", want: `the singular ""`},
		{name: "a plural of another type", old: "plural: policyexceptions", new: "plural: 1", want: `the plural ""`},
		{name: "a version without a schema", old: "schema: {openAPIV3Schema: {properties: {spec: {description: other, properties: {match: {type: object}, description: {type: string}}}}}}", new: "x: y", want: `"v2beta1"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := definition
			if tc.old != "" {
				text = strings.Replace(definition, tc.old, tc.new, 1)
			}
			d := &unstructured.Unstructured{}
			must.Do(t, yaml.Unmarshal([]byte(text), &d.Object))
			got := cluster.Conversion(d)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) || tc.old != "" && text == definition {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestDefinitionChanges: a definition that changes is told at once, also if it had the other state for a moment only,
// and a watch that ends does not hide it. While it cannot be watched, the guard knows that.
func TestDefinitionChanges(t *testing.T) {
	s, api := serve(t)
	s.versions["apiextensions.k8s.io"] = []string{"v1"}
	generation := int64(1)
	put := func(change func(*unstructured.Unstructured)) {
		d := &unstructured.Unstructured{}
		must.Do(t, yaml.Unmarshal([]byte(definition), &d.Object))
		d.SetAPIVersion("apiextensions.k8s.io/v1")
		d.SetKind("CustomResourceDefinition")
		d.SetName("policyexceptions.kyverno.io")
		if change != nil {
			change(d)
		}
		d.SetGeneration(generation)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.set("apiextensions.k8s.io/customresourcedefinitions/policyexceptions.kyverno.io", d.Object)
		s.tell("apiextensions.k8s.io/customresourcedefinitions", object{"type": "MODIFIED", "object": d.Object})
	}
	put(nil)
	told := make(chan string, 10)
	var sees sync.Map // by group
	next := func() string {
		t.Helper()
		select {
		case change := <-told:
			return change
		case <-time.After(30 * time.Second):
			t.Fatal("nothing is told")
			return ""
		}
	}
	definitions := cluster.Definitions{
		API: api, Known: &guard.Definitions{}, Failed: func(err error) { told <- err.Error() },
		Changed: func(kind exception.GroupKind, before, state string) {
			expect.That(t, before != state, "%s is told twice", state)
			told <- kind.Group + " " + state
		},
		Watching: func(kind exception.GroupKind, yes bool) { sees.Store(kind.Group, yes) },
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); definitions.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	eventually(t, "both watches", func() bool { return s.watched(2) })

	if got := next(); !strings.HasPrefix(got, "kyverno.io generation 1") {
		t.Errorf("at the start: %s", got) // nobody saw a change before
	}
	eventually(t, "the news that it is watched", func() bool { yes, _ := sees.Load("kyverno.io"); return yes == true })
	put(nil) // as it was
	generation = 2
	put(nil)
	first := next()
	must.That(t, strings.HasPrefix(first, "kyverno.io generation 2"), "%v", first)
	put(func(d *unstructured.Unstructured) {
		names := []any{map[string]any{"type": "Established", "status": "True"}, map[string]any{"type": "Established", "status": "False"}}
		expect.NoError(t, unstructured.SetNestedSlice(d.Object, names, "status", "conditions"))
	})
	got := next()
	expect.That(t, strings.HasPrefix(got, "kyverno.io generation 2") && got != first, "another status: %s", got)
	put(nil)
	expect.Is(t, "the status before", first, next())
	s.endWatches()
	generation = 4 // it was another one in between
	put(nil)
	got = next()
	expect.That(t, strings.HasPrefix(got, "kyverno.io generation 4"), "after the watch ended: %s", got)
	eventually(t, "both watches again", func() bool { return s.watched(2) })
	s.mu.Lock()
	delete(s.versions, "apiextensions.k8s.io")
	s.mu.Unlock()
	s.endWatches()
	got = next()
	expect.That(t, strings.Contains(got, "watch the definition policyexceptions."), "it cannot be watched: %s", got)
	eventually(t, "the news that neither is watched", func() bool {
		one, _ := sees.Load("kyverno.io")
		other, _ := sees.Load("policies.kyverno.io")
		return one == false && other == false
	})
}

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
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			failed := make(chan string, 100)
			store := cluster.NewStore(ctx, api, func(err error) { failed <- err.Error() })
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
			both := []exception.GroupKind{kyverno.ConditionKind, kind}
			go store.Watch(func() []exception.GroupKind { return both })
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

// TestCountBeforeTheList: a kind that was not served has no count until its objects are listed.
func TestCountBeforeTheList(t *testing.T) {
	s, api := serve(t)
	s.put("a", nil)
	served := s.versions
	s.versions = nil
	var lists atomic.Bool
	var refused atomic.Int32
	s.refuse = func(r *http.Request) (int, <-chan struct{}) {
		if limit := r.URL.Query().Get("limit"); limit == "" || limit == "1" || lists.Load() {
			return 0, nil
		}
		refused.Add(1)
		return http.StatusInternalServerError, nil
	}
	store := cluster.NewStore(t.Context(), api, func(error) {})
	_, err := store.Count(t.Context(), kind, "x")
	expect.Error(t, err, "does not serve this kind")
	s.mu.Lock()
	s.versions = served
	s.mu.Unlock()
	eventually(t, "a list that fails", func() bool { return refused.Load() > 1 })
	_, err = store.Count(t.Context(), kind, "x")
	expect.Error(t, err, "does not serve this kind")
	lists.Store(true)
	eventually(t, "a count", func() bool { n, err := store.Count(t.Context(), kind, "x"); return n == 1 && err == nil })
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
		err := newStore(t, api).Scan(t.Context(), gk, show)
		expect.That(t, err == nil, "%s: %v", gk, err)
	}
	expect.That(t, slices.Equal(got, []string{"a v2"}), "it found %q", got)
	err := newStore(t, api).Scan(t.Context(), exception.GroupKind{Group: "kyverno.io", Kind: "Policy"}, show)
	expect.That(t, err != nil, "it found a kind that only discovery tells")
}
