package guard_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	testclock "k8s.io/utils/clock/testing"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// memory is a store in memory. Objects differ between versions only in their apiVersion, as in an
// API server without conversion. v2 does not have the objects in onlyBeta.
type memory struct {
	mu      sync.Mutex
	objects map[exception.Identity]object
	touch   func(exception.Identity)
	fail    error                    // of the next Delete
	held    map[string]chan struct{} // deletions by name wait for it
	read    []string
	version int

	broken    error                                 // of every Read
	unserved  []string                              // versions
	gone      []string                              // versions: the object is deleted before this read
	another   []string                              // versions: and created again
	hangs     map[exception.GroupKind]chan struct{} // every Read waits for it
	unwatched map[exception.GroupKind]bool
	report    chan struct{} // if it is set, every report waits for it
	changes   bool          // the object changes before each Delete
	together  int           // deletions wait until there are as many; 0: they do not wait
	gathered  chan struct{} // closed then
	looks     int           // reads in any version
	deletes   int
}

func (m *memory) put(t *testing.T, o object) exception.Identity {
	t.Helper()
	doc := must.Get(exception.FromObject(object{"apiVersion": o["apiVersion"], "kind": o["kind"],
		"metadata": metadata(o)}))(t)
	m.mu.Lock()
	m.version++
	o = copied(t, o, func(o object) {
		metadata(o)["uid"], metadata(o)["resourceVersion"] = "u-"+doc.Identity().Name, strconv.Itoa(m.version)
	})
	m.objects[doc.Identity()] = o
	touch := m.touch
	m.mu.Unlock()
	if touch != nil {
		touch(doc.Identity())
	}
	return doc.Identity()
}

// locked changes the store while nobody uses it.
func (m *memory) locked(change func(*memory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

func (m *memory) States(kind exception.GroupKind) (map[exception.Identity]guard.State, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[exception.Identity]guard.State{}
	for id, o := range m.objects {
		if id.GroupKind == kind {
			all[id] = stateOf(o)
		}
	}
	return all, !m.unwatched[kind]
}

func (m *memory) Scan(ctx context.Context, kind exception.GroupKind, show func(*guard.Object)) error {
	all, _ := m.States(kind)
	for id := range all {
		if o, err := m.Read(ctx, id, ""); err == nil {
			show(o)
		}
	}
	return nil
}

func stateOf(o object) guard.State {
	return guard.State{UID: metadata(o)["uid"].(string), ResourceVersion: metadata(o)["resourceVersion"].(string)}
}

func (m *memory) Read(_ context.Context, id exception.Identity, version string) (*guard.Object, error) {
	m.mu.Lock()
	hangs := m.hangs[id.GroupKind]
	m.mu.Unlock()
	if hangs != nil {
		<-hangs
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if version == "" {
		version = "v2"
		m.looks++
	} else {
		m.read = append(m.read, version)
	}
	o := m.objects[id]
	switch {
	case o == nil, slices.Contains(m.gone, version):
		return nil, guard.ErrGone
	case m.broken != nil:
		return &guard.Object{State: stateOf(o), Identity: id, Version: version}, m.broken
	case slices.Contains(m.unserved, version):
		return &guard.Object{State: stateOf(o), Identity: id, Version: version}, guard.ErrNotServed
	}
	shown := maps.Clone(o)
	if spec, ok := shown["spec"].(object); ok && version == "v2" {
		spec = maps.Clone(spec)
		delete(spec, "onlyBeta")
		shown["spec"] = spec
	}
	shown["apiVersion"] = id.Group + "/" + version
	if id.Group == "" {
		shown["apiVersion"], version = o["apiVersion"], o["apiVersion"].(string)
	}
	doc, err := exception.FromObject(shown)
	state := stateOf(o)
	if slices.Contains(m.another, version) {
		state.UID = "another"
	}
	return &guard.Object{State: state, Identity: id, Version: version, Dying: isDying(o), Document: doc, Unreadable: err}, nil
}

func isDying(o object) bool { return metadata(o)["deletionTimestamp"] != nil }

// edit changes a stored object without news, and its resource version only if moves says so.
func (m *memory) edit(t *testing.T, moves bool, change func(object)) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, o := range m.objects {
		m.objects[id] = copied(t, o, change)
		if moves {
			m.version++
			metadata(m.objects[id])["resourceVersion"] = strconv.Itoa(m.version)
		}
	}
}

// Delete deletes in the background, as an API server does. Finalizers keep an object. The resource
// version of an object that is being deleted never matches.
func (m *memory) Delete(_ context.Context, id exception.Identity, judged guard.State) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deletes++
	if m.deletes == m.together {
		close(m.gathered)
	}
	held := m.held[id.Name]
	if m.together > 0 {
		held = m.gathered
	}
	if held != nil {
		m.mu.Unlock()
		<-held
		m.mu.Lock()
	}
	if err := m.fail; err != nil {
		m.fail = nil
		return err
	}
	o := m.objects[id]
	if o != nil && m.changes {
		m.version++
		metadata(o)["resourceVersion"] = strconv.Itoa(m.version)
	}
	if o == nil || stateOf(o).UID != judged.UID || judged.ResourceVersion != "" && (stateOf(o) != judged || isDying(o)) {
		return guard.ErrGone
	}
	if list, ok := metadata(o)["finalizers"].([]any); ok {
		list = slices.DeleteFunc(list, func(f any) bool { return f == "foregroundDeletion" })
		if metadata(o)["finalizers"] = list; len(list) > 0 {
			return guard.ErrHeld
		}
	}
	delete(m.objects, id)
	return nil
}

// keeping is a running controller with its reports.
type keeping struct {
	*guard.Controller
	store    *memory
	clock    *testclock.FakeClock
	told     chan string
	registry *prometheus.Registry
	hangs    chan struct{} // nil, or every Report waits for it
}

func (k *keeping) Found(_ context.Context, f *guard.Finding) {
	k.told <- fmt.Sprintf("found %s %s", f.Object.Name, f.Reason)
}

func (k *keeping) Removed(_ context.Context, f *guard.Finding) {
	what := fmt.Sprintf("removed %s %s", f.Object.Name, f.Reason)
	if strings.Contains(f.Message(), "Kyverno may still apply it") {
		what += ", kept"
	}
	k.told <- what
}

func (k *keeping) Failed(_ context.Context, what string, err error) {
	k.told <- fmt.Sprintf("failed %s: %v", what, err)
}

func (k *keeping) Report(_ context.Context, all []*guard.Finding) error {
	var said []string
	for _, f := range all {
		said = append(said, f.Object.Name+" "+f.Reason)
	}
	slices.Sort(said)
	k.told <- fmt.Sprintf("report %v", said)
	if k.hangs != nil {
		<-k.hangs
	}
	return nil
}

const every = time.Hour

// waitLimit limits the wait for the next report of a controller.
const waitLimit = 10 * time.Second

// keep runs a controller with objects, at the time now, until the test ends.
func keep(t *testing.T, change func(*guard.Controller), rules *guard.Rules, objects ...object) *keeping {
	t.Helper()
	k := &keeping{store: &memory{objects: map[exception.Identity]object{}}, clock: testclock.NewFakeClock(now), told: make(chan string, 100), registry: prometheus.NewRegistry()}
	for _, o := range objects {
		k.store.put(t, o)
	}
	metrics := guard.NewMetrics(k.registry, k.clock.Now)
	current := &guard.Current{}
	current.Replace(rules)
	k.Controller = &guard.Controller{Store: k.store, Rules: current, Clock: k.clock, Tell: k, Metrics: metrics, Every: every}
	k.store.touch = k.Touch
	if change != nil {
		change(k.Controller)
	}
	k.hangs = k.store.report
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		expect.NoError(t, k.Run(ctx))
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return k
}

// says expects the next reports, in any order.
func (k *keeping) says(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for range want {
		select {
		case told := <-k.told:
			got = append(got, told)
		case <-time.After(waitLimit):
			t.Fatalf("it says %q and no more, want %q", got, want)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	diff := cmp.Diff(want, got)
	must.That(t, diff == "", "-want +got:\n%s", diff)
}

// settles expects these reports and no further one.
func (k *keeping) settles(t *testing.T, want ...string) {
	t.Helper()
	k.says(t, want...)
	k.idle(t)
}

// idle waits until the controller waits for its clock, and expects no further report.
func (k *keeping) idle(t *testing.T) {
	t.Helper()
	for k.Reporting() || k.clock.Waiters() <= len(k.Rules.Rules().Kinds()) { // one for each kind, and one for new kinds
		select {
		case told := <-k.told:
			t.Fatalf("it says %q", told)
		default:
		}
	}
	select {
	case told := <-k.told:
		t.Fatalf("it says %q", told)
	default:
	}
}

// TestFinds: at its start, the controller judges all objects in the versions of their messages.
func TestFinds(t *testing.T) {
	w := inWorld(t)
	early := now.Add(-10 * time.Minute)
	honest := w.sealed(t, draft("honest", "x", hour, ""), early)
	beta := w.sealed(t, replaced(t, draft("beta", "x", hour, ""), "kyverno.io/v2", "kyverno.io/v2beta1"), early)
	k := keep(t, nil, w.rules(t, guard.Settings{}, nil), honest, beta,
		copied(t, w.sealed(t, draft("altered", "x", hour, ""), early), func(o object) { o["spec"] = object{} }),
		copied(t, w.sealed(t, draft("unsigned", "x", hour, ""), early), unseal),
		copied(t, w.sealed(t, draft("dying", "x", hour, ""), early), func(o object) { metadata(o)["deletionTimestamp"] = "2026-01-01T00:00:00Z" }),
		w.sealed(t, replaced(t, draft("self", "x", hour, ""), "require-probes", "polex-verify"), early),
		w.sealed(t, draft("elsewhere", "x", hour, ", polex.dev/cluster: other"), early),
		w.sealed(t, draft("later", "x", 2*hour, fmt.Sprintf(`, polex.dev/starts-at: "%s"`, now.Add(hour/2).UTC().Format(time.RFC3339))), early),
	)
	k.says(t, "found honest verified", "found beta verified", "found altered altered", "found unsigned unsigned", "found dying deleting",
		"found self reaches-guard", "found elsewhere another-cluster", "found later not-yet-valid",
		"report [altered altered beta verified dying deleting elsewhere another-cluster honest verified later not-yet-valid self reaches-guard unsigned unsigned]")
	k.idle(t)
	expect.Equal(t, "versions read", []string{"v2beta1"}, k.store.read)

	// A change is reported at once. An unchanged object is not reported again. Several changes make one report.
	for name, o := range map[string]object{"honest": honest, "beta": beta} {
		k.store.put(t, copied(t, o, func(o object) { metadata(o)["labels"] = object{"a": "b"} }))
		k.settles(t, "found "+name+" altered")
	}
	k.clock.Step(time.Second)
	k.settles(t, "report [altered altered beta altered dying deleting elsewhere another-cluster honest altered later not-yet-valid self reaches-guard unsigned unsigned]")

	// The exception becomes valid.
	k.clock.SetTime(now.Add(hour / 2))
	k.says(t, "found later verified", "report [altered altered beta altered dying deleting elsewhere another-cluster honest altered later verified self reaches-guard unsigned unsigned]")
}

// TestNewRules: stored objects are judged again when the trusted signers change.
func TestNewRules(t *testing.T) {
	w := inWorld(t)
	k := keep(t, nil, w.rules(t, guard.Settings{}, nil), w.sealed(t, draft("a", "x", hour, ""), now.Add(-time.Minute)))
	k.settles(t, "found a verified", "report [a verified]")
	k.Rules.Replace(w.rules(t, guard.Settings{}, func(c *trust.Config) {
		c.Revoked = []trust.RevocationConfig{{Authority: "release-key", SignedBefore: now.UTC().Format(time.RFC3339)}}
	}))
	k.clock.Step(time.Second)
	k.says(t, "found a withdrawn", "report [a withdrawn]")
}

// TestRenewedInPlace: a renewal under the same name is reported, because its expiry differs.
func TestRenewedInPlace(t *testing.T) {
	w := inWorld(t)
	k := keep(t, nil, w.rules(t, guard.Settings{}, nil), w.sealed(t, draft("a", "exceptions", hour, ""), now))
	k.settles(t, "found a verified", "report [a verified]")
	k.clock.Step(2 * time.Second)
	k.store.put(t, w.sealed(t, draft("a", "exceptions", 2*hour, ""), now))
	k.says(t, "found a verified", "report [a verified]")
}

// TestExpiry: an exception is deleted in the second of its expiry, and not earlier.
func TestExpiry(t *testing.T) {
	w := inWorld(t)
	at := func(name string, lives time.Duration) object {
		return w.sealed(t, draft(name, "x", lives, ""), now.Add(-time.Minute))
	}
	k := keep(t, nil, w.rules(t, guard.Settings{}, nil), at("first", 10*time.Second), at("second", 20*time.Second),
		copied(t, at("altered", 10*time.Second), func(o object) { o["spec"] = object{} }), at("past", -time.Second))
	k.says(t, "found first verified", "found second verified", "found altered altered", "found past expired", "removed past expired",
		"report [altered altered first verified second verified]")
	k.idle(t)
	k.clock.SetTime(now.Add(10*time.Second - time.Millisecond))
	k.idle(t)
	k.clock.SetTime(now.Add(10 * time.Second))
	k.settles(t, "removed first expired", "report [altered altered second verified]")

	// A replacement with a later expiry stays.
	k.store.put(t, at("second", 40*time.Second))
	k.settles(t, "found second verified")
	k.clock.SetTime(now.Add(20 * time.Second))
	k.settles(t, "report [altered altered second verified]")

	// The clock jumps forward and back.
	k.clock.SetTime(now.Add(-hour))
	k.idle(t)
	k.clock.SetTime(now.Add(hour / 2))
	k.says(t, "removed second expired", "report [altered altered]")
}

// TestExpiryFails: a failed deletion is retried. If the object has another state, that state is judged first.
func TestExpiryFails(t *testing.T) {
	w := inWorld(t)
	k := keep(t, nil, w.rules(t, guard.Settings{}, nil), w.sealed(t, draft("a", "x", 10*time.Second, ""), now.Add(-time.Minute)))
	k.settles(t, "found a verified", "report [a verified]")
	k.store.fail = errors.New("etcd is down")
	k.clock.SetTime(now.Add(10 * time.Second))
	k.settles(t, "failed delete PolicyException.kyverno.io x/a: etcd is down", "report [a expired]")
	k.clock.SetTime(now.Add(10*time.Second + 999*time.Millisecond))
	k.idle(t)
	k.clock.SetTime(now.Add(11 * time.Second))
	k.says(t, "removed a expired", "report []")
}

// TestExpiryOfAnother: at the planned time, the current object is judged, and not the one that was planned.
func TestExpiryOfAnother(t *testing.T) {
	w := inWorld(t)
	at := func(lives time.Duration) object {
		return w.sealed(t, draft("a", "x", lives, ""), now.Add(-time.Minute))
	}
	for name, tc := range map[string]struct {
		there object
		says  []string
	}{
		"altered": {copied(t, at(10*time.Second), func(o object) { metadata(o)["labels"] = object{"a": "b"} }), []string{"found a altered", "report [a altered]"}},
		"longer":  {at(time.Minute), []string{"found a verified", "report [a verified]"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := keep(t, nil, w.rules(t, guard.Settings{}, nil), at(10*time.Second))
			k.settles(t, "found a verified", "report [a verified]")
			k.store.locked(func(m *memory) { m.touch = nil }) // the news has not arrived yet
			k.store.put(t, tc.there)
			k.clock.SetTime(now.Add(10 * time.Second))
			k.settles(t, tc.says...)
		})
	}
}

// TestExpiryOfOthers: an object of another kind is reported and stays.
func TestExpiryOfOthers(t *testing.T) {
	w := inWorld(t)
	rules := w.rules(t, guard.Settings{}, func(c *trust.Config) { c.Kinds = []string{"ConfigMap"} })
	text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: x, annotations: {polex.dev/expires-at: %q}}\n", now.Add(10*time.Second).UTC().Format(time.RFC3339))
	unsigned := object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "b", "namespace": "x"}}
	k := keep(t, func(k *guard.Controller) { k.Enforce, k.Every = true, time.Minute }, rules, w.sealed(t, text, now.Add(-time.Minute)), unsigned)
	k.settles(t, "found a verified", "found b unsigned", "report [a verified b unsigned]")
	k.clock.SetTime(now.Add(10 * time.Second))
	k.settles(t, "found a expired", "report [a expired b unsigned]")
	k.clock.SetTime(now.Add(hour))
	k.idle(t)
}

// TestEnforce: with Enforce, a rejected exception is deleted after one interval. Otherwise it stays.
func TestEnforce(t *testing.T) {
	w := inWorld(t)
	honest := w.sealed(t, draft("honest", "x", 100*hour, ""), now.Add(-time.Minute))
	unsigned := copied(t, w.sealed(t, draft("unsigned", "x", 100*hour, ""), now.Add(-time.Minute)), unseal)
	for name, enforce := range map[string]bool{"asked for": true, "not asked for": false} {
		t.Run(name, func(t *testing.T) {
			k := keep(t, func(k *guard.Controller) { k.Enforce = enforce }, w.rules(t, guard.Settings{}, nil), honest, unsigned)
			k.settles(t, "found honest verified", "found unsigned unsigned", "report [honest verified unsigned unsigned]")
			k.clock.SetTime(now.Add(every - time.Second))
			k.idle(t)
			k.clock.SetTime(now.Add(every))
			if enforce {
				k.says(t, "removed unsigned unsigned", "report [honest verified]")
			}
			k.idle(t)
		})
	}
}

func replaced(t testing.TB, text, old, with string) string {
	t.Helper()
	must.That(t, strings.Count(text, old) == 1, "%q does not hold %q once", text, old)
	return strings.Replace(text, old, with, 1)
}
