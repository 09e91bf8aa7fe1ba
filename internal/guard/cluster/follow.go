package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
)

// place is the namespace and the name of an object of a known kind.
type place struct{ namespace, name string }

func (p place) identity(gk exception.GroupKind) exception.Identity {
	return exception.Identity{GroupKind: gk, Namespace: p.namespace, Name: p.name}
}

// followed is the state of a watched kind. It is the store of a reflector.
type followed struct {
	store *Store
	kind  exception.GroupKind
	first chan struct{} // closed after the first list, or when the kind is not served

	// Protected by the lock of the store.
	served   bool
	watched  bool // changes are seen, or the kind is not served
	listing  bool // the objects were listed after the last watch
	reported bool // its failure
	where    resource
	known    map[place]guard.State
	counts   map[string]int // by namespace
}

// brief is the part of an object that the store keeps.
type brief struct {
	Name            string `json:"name"`
	Namespace       string `json:"namespace"`
	UID             string `json:"uid"`
	ResourceVersion string `json:"resourceVersion"`
}

// object returns the brief form as an object for the reflector.
func (b brief) object() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: b.Name, Namespace: b.Namespace, UID: types.UID(b.UID), ResourceVersion: b.ResourceVersion,
	}}
}

// Watch watches kinds until the context ends. A kind that is not served yet is watched as soon as
// it is served, because Kyverno may be installed after the guard. Another error is reported once for
// each kind until it is solved, and does not affect the other kinds.
func (s *Store) Watch(ctx context.Context, kinds func() []exception.GroupKind, failed func(error)) {
	const newKinds = 5 * time.Second // the pause between two looks for new kinds in the configuration
	s.mu.Lock()
	s.running, s.failed = ctx, failed
	s.mu.Unlock()
	close(s.started)
	ticker := time.NewTicker(newKinds)
	defer ticker.Stop()
	for ctx.Err() == nil {
		for _, gk := range kinds() {
			s.start(gk)
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// follow waits for the first list of a kind.
func (s *Store) follow(ctx context.Context, gk exception.GroupKind) (*followed, error) {
	select {
	case <-s.started:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f := s.start(gk)
	select {
	case <-f.first:
		return f, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *Store) start(gk exception.GroupKind) *followed {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.kinds[gk]
	if f == nil {
		f = &followed{store: s, kind: gk, first: make(chan struct{})}
		f.known, f.counts = map[place]guard.State{}, map[string]int{}
		s.kinds[gk] = f
		f.tell()
		feed := &feed{api: s.api, list: f.list, object: f.object, state: f.state}
		go feed.run(s.running, gk.String(), f)
	}
	return f
}

// tell passes on whether changes are seen. The caller holds the lock.
func (f *followed) tell() {
	if f.store.Watching != nil {
		f.store.Watching(f.kind, f.watched)
	}
}

// state records whether changes are seen, and reports a failure once until it is solved. When the
// objects were not listed before a new watch, their contents may have changed unseen, for example
// because the definition has another schema now.
func (f *followed) state(watching bool, err error) {
	s := f.store
	s.mu.Lock()
	if errors.Is(err, errNotServed) && (f.served || !f.watched) {
		s.mu.Unlock()
		_ = f.Replace(nil, "")
		s.mu.Lock()
	}
	failed, renew, first, anew := s.failed, s.renew, err != nil && !f.reported, watching && !f.listing
	f.watched = watching
	switch {
	case errors.Is(err, errNotServed):
		f.served, f.watched, first = false, true, false
	case err != nil:
		f.reported = true
	case watching:
		f.reported, f.listing = false, false
	}
	if anew {
		s.fresh = fresh{}
	}
	f.tell()
	s.mu.Unlock()
	if first && s.running.Err() == nil {
		failed(fmt.Errorf("watch %s: %w", f.kind, err))
	}
	if anew && renew != nil {
		renew(f.kind)
	}
}

// list lists all objects, page by page.
func (f *followed) list(ctx context.Context) (runtime.Object, resource, error) {
	s := f.store
	where, err := s.api.find(ctx, f.kind)
	if err != nil {
		return nil, where, err
	}
	all := &metav1.PartialObjectMetadataList{}
	all.ResourceVersion, err = eachPage(ctx, s.api, where, func(items []struct {
		Metadata brief `json:"metadata"`
	}) {
		for _, item := range items {
			all.Items = append(all.Items, *item.Metadata.object())
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	f.where = where
	return all, where, err
}

// object reduces the object of an event. The content is kept only for the controller, and only until
// it is read.
func (f *followed) object(kind watch.EventType, raw []byte) (runtime.Object, error) {
	var stored struct {
		Metadata brief `json:"metadata"`
	}
	if err := decode(raw, &stored); err != nil {
		return nil, fmt.Errorf("read an event: %w", err)
	}
	s := f.store
	s.mu.Lock()
	wanted, version := s.touch != nil, f.where.version
	s.mu.Unlock()
	if wanted && (kind == watch.Added || kind == watch.Modified) {
		var tree map[string]any
		if err := decode(raw, &tree); err != nil {
			return nil, fmt.Errorf("read an event: %w", err)
		}
		o := asObject(f.kind, version, tree)
		s.mu.Lock()
		s.fresh.put(o, len(raw))
		s.mu.Unlock()
	}
	return stored.Metadata.object(), nil
}

// Add records a new object.
func (f *followed) Add(o any) error { return f.change(o, false) }

// Update records a changed object.
func (f *followed) Update(o any) error { return f.change(o, false) }

// Delete records that an object is gone.
func (f *followed) Delete(o any) error { return f.change(o, true) }

// Resync does nothing: the controller has its own interval.
func (f *followed) Resync() error { return nil }

func (f *followed) change(o any, gone bool) error {
	m := o.(*metav1.PartialObjectMetadata)
	at, tell, s := place{m.Namespace, m.Name}, func() {}, f.store
	s.mu.Lock()
	state, known := f.known[at]
	switch {
	case gone && known:
		f.counts[at.namespace]--
		tell = s.wentAway(at.identity(f.kind), f.where.version, state)
	case !gone && !known:
		f.counts[at.namespace]++
	}
	if f.counts[at.namespace] <= 0 {
		delete(f.counts, at.namespace)
	}
	if gone {
		delete(f.known, at)
		s.fresh.take(at.identity(f.kind))
	} else {
		f.known[at] = guard.State{UID: string(m.UID), ResourceVersion: m.ResourceVersion}
	}
	touch := s.touch
	s.mu.Unlock()
	tell()
	if touch != nil {
		touch(at.identity(f.kind))
	}
	return nil
}

// Replace makes the listed objects the known objects.
func (f *followed) Replace(list []any, _ string) error {
	listed, counts := make(map[place]guard.State, len(list)), map[string]int{}
	for _, o := range list {
		m := o.(*metav1.PartialObjectMetadata)
		listed[place{m.Namespace, m.Name}] = guard.State{UID: string(m.UID), ResourceVersion: m.ResourceVersion}
		counts[m.Namespace]++
	}
	s := f.store
	s.mu.Lock()
	var tell []func()
	for at, state := range f.known {
		if listed[at].UID != state.UID {
			tell = append(tell, s.wentAway(at.identity(f.kind), f.where.version, state))
		}
	}
	f.known, f.counts, f.served, f.listing, s.fresh = listed, counts, true, true, fresh{}
	renew := s.renew
	s.mu.Unlock()
	select {
	case <-f.first:
	default:
		close(f.first)
	}
	for _, report := range tell {
		report()
	}
	if renew != nil {
		renew(f.kind)
	}
	return nil
}

// fresh holds objects that the watch has just reported, so that they are not read again.
type fresh struct {
	held map[exception.Identity]freshObject
	size int
}

type freshObject struct {
	object *guard.Object
	size   int
}

// put keeps an object of the given size, or drops it if there is no room. It replaces the previous
// state of the object.
func (f *fresh) put(o *guard.Object, size int) {
	const maxFresh = 4 << 20 // bytes; other objects are read from the API server
	f.take(o.Identity)
	if f.size+size > maxFresh {
		return
	}
	if f.held == nil {
		f.held = map[exception.Identity]freshObject{}
	}
	f.held[o.Identity] = freshObject{o, size}
	f.size += size
}

// take returns and removes an object; nil: it is not here.
func (f *fresh) take(id exception.Identity) *guard.Object {
	t, known := f.held[id]
	if !known {
		return nil
	}
	delete(f.held, id)
	f.size -= t.size
	return t.object
}
