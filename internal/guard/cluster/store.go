package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Store implements [guard.Store] with an API server. It keeps the name and the state of each
// object, and reads the content on demand. It is safe for concurrent use.
type Store struct {
	// Watching receives whether changes of the objects of a kind are seen; nil: nobody.
	Watching func(kind exception.GroupKind, yes bool)

	api *API

	mu      sync.Mutex
	kinds   map[exception.GroupKind]*followed
	touch   func(exception.Identity)
	renew   func(exception.GroupKind)
	deleted Deleted
	ours    map[string]int  // the requests to delete an object that run or succeeded, by its UID
	lately  []deletion      // not reported yet
	running context.Context // of the watches
	failed  func(error)
}

// Deleted receives an object that was deleted, as the watch reports it. A review of a deletion
// proves only that somebody reached the guard.
type Deleted func(id exception.Identity, version string, state guard.State)

type deletion struct {
	id      exception.Identity
	version string
	state   guard.State
	at      time.Time
}

// NewStore returns a store that watches each kind from the first question about it until the context
// ends. A kind that is not served yet is watched as soon as it is served, because Kyverno may be
// installed after the guard. Another error is reported once for each kind until it is solved, and does
// not affect the other kinds.
func NewStore(ctx context.Context, api *API, failed func(error)) *Store {
	s := &Store{api: api, running: ctx, failed: failed, kinds: map[exception.GroupKind]*followed{},
		ours: map[string]int{}}
	s.Notify(nil, nil, nil)
	return s
}

var _ guard.Store = (*Store)(nil)

// Notify sets the functions for changes. touch receives every object that is created, changed or
// deleted, renew every kind whose contents may have changed unseen, and deleted every object that
// another client deletes. All may be nil. They must not block or call the store.
func (s *Store) Notify(touch func(exception.Identity), renew func(exception.GroupKind), deleted Deleted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.touch = touch; touch == nil {
		s.touch = func(exception.Identity) {}
	}
	if s.renew = renew; renew == nil {
		s.renew = func(exception.GroupKind) {}
	}
	s.deleted = deleted
	for _, d := range s.lately {
		if deleted != nil && time.Since(d.at) < LeaseLasts {
			deleted(d.id, d.version, d.state)
		}
	}
	s.lately = nil
}

// Watch watches kinds before there is a question about them.
func (s *Store) Watch(kinds func() []exception.GroupKind) {
	const newKinds = 5 * time.Second // the pause between two looks for new kinds in the configuration
	wait.UntilWithContext(s.running, func(context.Context) {
		for _, gk := range kinds() {
			s.start(gk)
		}
	}, newKinds)
}

func (s *Store) start(gk exception.GroupKind) *followed {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.kinds[gk]
	if f == nil {
		f = &followed{store: s, kind: gk, first: make(chan struct{})}
		s.kinds[gk] = f
		f.see(false)
		feed := &feed{follower: f, api: s.api, name: gk.String(), onlyMetadata: true, failed: s.failed}
		go feed.run(s.running)
	}
	return f
}

// States returns the objects of a kind that the watch has reported, and whether it sees changes.
func (s *Store) States(gk exception.GroupKind) (states map[exception.Identity]guard.State, watched bool) {
	f := s.start(gk)
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(f.known), f.watched
}

// Count returns the number of objects of a kind in a namespace, from the watch. It waits for the first
// list of the kind.
func (s *Store) Count(ctx context.Context, gk exception.GroupKind, namespace string) (n int, err error) {
	f := s.start(gk)
	select {
	case <-f.first:
	case <-ctx.Done():
		return 0, fmt.Errorf("count the objects of %q: %w", namespace, ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !f.served {
		return 0, fmt.Errorf("count the objects of %q: %w", namespace, errNotServed)
	}
	for id := range f.known {
		if id.Namespace == namespace {
			n++
		}
	}
	return n, nil
}

// Scan reads all objects of a kind, page by page.
func (s *Store) Scan(ctx context.Context, gk exception.GroupKind, show func(*guard.Object)) error {
	where, err := s.api.find(ctx, gk)
	if errors.Is(err, errNotServed) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the kind %s: %w", gk, err)
	}
	_, err = s.api.eachPage(ctx, where, metav1.ListOptions{}, false, func(o *unstructured.Unstructured) {
		show(asObject(gk, where.version, o))
	})
	if err != nil {
		return fmt.Errorf("list the kind %s: %w", gk, err)
	}
	return nil
}

// asObject makes an object of one of the API server. It keeps and changes the tree. The API server can
// give exceptions another kind.
func asObject(gk exception.GroupKind, version string, o *unstructured.Unstructured) *guard.Object {
	o.SetManagedFields(nil) // large, and not part of the content
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: gk.Group, Version: version, Kind: gk.Kind})
	doc, err := exception.FromObject(o.Object)
	return &guard.Object{
		State: stateOf(o), Identity: identityOf(gk, o), Version: version, Dying: o.GetDeletionTimestamp() != nil,
		Document: doc, Unreadable: err,
	}
}

func identityOf(gk exception.GroupKind, o *unstructured.Unstructured) exception.Identity {
	return exception.Identity{GroupKind: gk, Namespace: o.GetNamespace(), Name: o.GetName()}
}

func stateOf(o *unstructured.Unstructured) guard.State {
	return guard.State{UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion()}
}

// Read reads an object in a version from the API server; "" is the version that is watched.
func (s *Store) Read(ctx context.Context, id exception.Identity, version string) (*guard.Object, error) {
	where, state, exists := s.find(id)
	if !exists {
		return nil, guard.ErrGone
	}
	if version == "" {
		version = where.version
	}
	unread := &guard.Object{State: state, Identity: id, Version: version}
	in, err := where.in(version)
	if err != nil {
		return unread, err
	}
	var o unstructured.Unstructured
	switch err := s.api.get(ctx, in.at(id.Namespace, id.Name), &o); {
	case isGone(err, id.Name):
		return nil, guard.ErrGone
	case apierrors.IsNotFound(err):
		return unread, guard.ErrNotServed
	case err != nil:
		return unread, err
	}
	return asObject(id.GroupKind, version, &o), nil
}

// find returns the resource and the last known state of an object.
func (s *Store) find(id exception.Identity) (where resource, state guard.State, exists bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.kinds[id.GroupKind]; f != nil {
		where = f.where
		state, exists = f.known[id]
	}
	return where, state, exists
}

// Delete deletes an object if it still has the state that was judged.
func (s *Store) Delete(ctx context.Context, id exception.Identity, judged guard.State) error {
	where, _, _ := s.find(id)
	if where.plural == "" {
		return guard.ErrGone
	}
	uid, background := types.UID(judged.UID), metav1.DeletePropagationBackground
	only := &metav1.Preconditions{UID: &uid}
	if judged.ResourceVersion != "" {
		only.ResourceVersion = &judged.ResourceVersion
	}
	options, err := json.Marshal(metav1.DeleteOptions{
		TypeMeta:      metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions: only, PropagationPolicy: &background,
	})
	if err != nil {
		return err
	}
	s.isOurs(judged.UID, 1)
	request := s.api.rest.Delete().AbsPath(where.at(id.Namespace, id.Name)).Body(options)
	var left metav1.PartialObjectMetadata // or a Status
	err = into(request.SetHeader("Content-Type", "application/json").Do(ctx), &left)
	switch {
	case isGone(err, id.Name), apierrors.IsConflict(err):
		err = guard.ErrGone
	case err == nil && string(left.UID) == judged.UID && len(left.Finalizers) > 0:
		err = fmt.Errorf("%w: %q", guard.ErrHeld, left.Finalizers) // another client will remove them
	}
	if err != nil {
		s.isOurs(judged.UID, -1)
	}
	return err
}

// isOurs changes the number of requests to delete an object that run or succeeded.
func (s *Store) isOurs(uid string, change int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ours[uid] += change; s.ours[uid] <= 0 {
		delete(s.ours, uid)
	}
}

// followed is the state of a watched kind.
type followed struct {
	store *Store
	kind  exception.GroupKind
	first chan struct{} // closed after the first list, or when the kind is not served

	// Protected by the lock of the store.
	served  bool
	watched bool // changes are seen, or the kind is not served
	listed  bool // the objects were listed after the last watch
	where   resource
	known   map[exception.Identity]guard.State
}

// see records whether changes are seen. The caller holds the lock.
func (f *followed) see(watched bool) {
	f.watched = watched
	if f.store.Watching != nil {
		f.store.Watching(f.kind, watched)
	}
}

func (f *followed) find(ctx context.Context) (resource, error) {
	where, err := f.store.api.find(ctx, f.kind)
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	if err == nil {
		f.where = where
	}
	return where, err
}

// sees records whether changes are seen. When the objects were not listed before a new watch, their
// contents may have changed unseen, for example because the definition has another schema now.
func (f *followed) sees(watching bool, err error) {
	absent := errors.Is(err, errNotServed)
	if absent {
		f.replace(nil)
	}
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	if watching && !f.listed {
		f.store.renew(f.kind)
	}
	f.listed = f.listed && !watching
	f.served = f.served && !absent
	f.see(watching || absent)
}

func (f *followed) change(o *unstructured.Unstructured, gone bool) {
	id, s := identityOf(f.kind, o), f.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if gone {
		f.gone(id)
		delete(f.known, id)
	} else {
		f.known[id] = stateOf(o)
	}
	s.touch(id)
}

// replace makes the listed objects the known objects.
func (f *followed) replace(list []any) {
	listed := make(map[exception.Identity]guard.State, len(list))
	for _, o := range list {
		o := o.(*unstructured.Unstructured)
		listed[identityOf(f.kind, o)] = stateOf(o)
	}
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	for id, state := range f.known {
		if listed[id].UID != state.UID {
			f.gone(id)
		}
	}
	if f.known == nil {
		close(f.first)
	}
	f.known, f.listed, f.served = listed, true, true
	f.store.renew(f.kind)
}

// gone reports an object that is gone, if it is known and the guard did not delete it. The newest ones
// wait for a new leader: perhaps no guard held the lease then. The caller holds the lock.
func (f *followed) gone(id exception.Identity) {
	const maxLately = 256
	s := f.store
	state, known := f.known[id]
	switch {
	case !known:
	case s.ours[state.UID] > 0:
		delete(s.ours, state.UID)
	case s.deleted != nil:
		s.deleted(id, f.where.version, state)
	default:
		if len(s.lately) >= maxLately {
			s.lately = s.lately[1:]
		}
		s.lately = append(s.lately, deletion{id, f.where.version, state, time.Now()})
	}
}
