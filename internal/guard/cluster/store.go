package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
	running context.Context // of Watch
	started chan struct{}
	fresh   fresh
	failed  func(error)
}

// NewStore returns a store without objects. It fills when [Store.Watch] runs.
func NewStore(api *API) *Store {
	return &Store{
		api: api, kinds: map[exception.GroupKind]*followed{}, ours: map[string]int{}, started: make(chan struct{}),
	}
}

var _ guard.Store = (*Store)(nil)

// Notify sets the functions for changes. touch receives every object that is created, changed or
// deleted, renew every kind whose contents may have changed unseen, and deleted every object that
// another client deletes. All may be nil.
func (s *Store) Notify(touch func(exception.Identity), renew func(exception.GroupKind), deleted Deleted) {
	s.mu.Lock()
	lately := s.lately
	s.touch, s.renew, s.deleted, s.fresh, s.lately = touch, renew, deleted, fresh{}, nil
	s.mu.Unlock()
	for _, d := range lately {
		if deleted != nil && time.Since(d.at) < LeaseLasts {
			deleted(d.id, d.version, d.state)
		}
	}
}

// States returns the objects of a kind that the watch has reported, and whether it sees changes.
func (s *Store) States(gk exception.GroupKind) (states map[exception.Identity]guard.State, watched bool) {
	states = map[exception.Identity]guard.State{}
	select {
	case <-s.started:
	default:
		return states, false
	}
	f := s.start(gk)
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, state := range f.known {
		states[at.identity(gk)] = state
	}
	return states, f.watched
}

// Count returns the number of objects of a kind in a namespace, from the watch.
func (s *Store) Count(ctx context.Context, gk exception.GroupKind, namespace string) (int, error) {
	f, err := s.follow(ctx, gk)
	if err != nil {
		return 0, fmt.Errorf("count the objects of %q: %w", namespace, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !f.served {
		return 0, fmt.Errorf("count the objects of %q: %w", namespace, errNotServed)
	}
	return f.counts[namespace], nil
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
	if _, err := eachPage(ctx, s.api, where, func(items []map[string]any) {
		for _, item := range items {
			show(asObject(gk, where.version, item))
		}
	}); err != nil {
		return fmt.Errorf("list the kind %s: %w", gk, err)
	}
	return nil
}

// eachPage lists all objects and returns the resource version of the list.
func eachPage[T any](
	ctx context.Context, api *API, where resource, show func([]T),
) (resourceVersion string, err error) {
	const perPage = 25 // objects of up to about 1 MiB
	for next := ""; ; {
		request := api.rest.Get().AbsPath(where.at("", "")).Param("limit", fmt.Sprint(perPage))
		if next != "" {
			request = request.Param("continue", next)
		}
		var page struct {
			Metadata metav1.ListMeta `json:"metadata"`
			Items    []T             `json:"items"`
		}
		if err := into(request.Do(ctx), &page); err != nil {
			return "", err
		}
		show(page.Items)
		if next = page.Metadata.Continue; next == "" {
			return page.Metadata.ResourceVersion, nil
		}
	}
}

// asObject makes an object of decoded JSON. It keeps and changes the tree.
func asObject(gk exception.GroupKind, version string, tree map[string]any) *guard.Object {
	metadata, _ := tree["metadata"].(map[string]any)
	text := func(key string) string { value, _ := metadata[key].(string); return value }
	o := &guard.Object{
		State:    guard.State{UID: text("uid"), ResourceVersion: text("resourceVersion")},
		Identity: exception.Identity{GroupKind: gk, Namespace: text("namespace"), Name: text("name")}, Version: version,
	}
	_, o.Dying = metadata["deletionTimestamp"]
	delete(metadata, "managedFields") // large, and not part of the content
	if gk.Group == "" {
		version = "v1"
	} else {
		version = gk.Group + "/" + version
	}
	tree["apiVersion"], tree["kind"] = version, gk.Kind // the items of a list may omit them
	o.Document, o.Unreadable = exception.FromObject(tree)
	return o
}

// Read reads an object in a version from the API server. For any version it returns the object that
// the watch has just reported, if there is one.
func (s *Store) Read(ctx context.Context, id exception.Identity, version string) (*guard.Object, error) {
	at := place{id.Namespace, id.Name}
	s.mu.Lock()
	f := s.kinds[id.GroupKind]
	var state guard.State
	var where resource
	var here bool
	if f != nil {
		where = f.where
		state, here = f.known[at]
	}
	reported := s.fresh.take(id)
	s.mu.Unlock()
	if !here {
		return nil, guard.ErrGone
	}
	if version == "" {
		if reported != nil && reported.State == state {
			return reported, nil
		}
		version = where.version
	}
	unread := &guard.Object{State: state, Identity: id, Version: version}
	in, err := where.in(version)
	if err != nil {
		return unread, err
	}
	var tree map[string]any
	switch err := s.api.get(ctx, in.at(id.Namespace, id.Name), &tree); {
	case isGone(err, id.Name):
		return nil, guard.ErrGone
	case apierrors.IsNotFound(err):
		return unread, guard.ErrNotServed
	case err != nil:
		return unread, err
	}
	return asObject(id.GroupKind, version, tree), nil
}

// Delete deletes an object if it still has the state that was judged.
func (s *Store) Delete(ctx context.Context, id exception.Identity, judged guard.State) error {
	s.mu.Lock()
	f := s.kinds[id.GroupKind]
	if f == nil {
		s.mu.Unlock()
		return guard.ErrGone
	}
	where := f.where
	s.ours[judged.UID]++
	s.mu.Unlock()
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
	request := s.api.rest.Delete().AbsPath(where.at(id.Namespace, id.Name)).Body(options)
	raw, err := rawOf(request.SetHeader("Content-Type", "application/json").Do(ctx))
	notOurs := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ours[judged.UID]--; s.ours[judged.UID] <= 0 {
			delete(s.ours, judged.UID)
		}
	}
	if err != nil {
		notOurs()
	}
	if isGone(err, id.Name) || apierrors.IsConflict(err) {
		return guard.ErrGone
	}
	if err != nil {
		return err
	}
	var left struct {
		Metadata struct {
			UID        string   `json:"uid"`
			Finalizers []string `json:"finalizers"`
		} `json:"metadata"`
	}
	if err := decode(raw, &left); err == nil && left.Metadata.UID == judged.UID && len(left.Metadata.Finalizers) > 0 {
		notOurs() // another client will remove the finalizers
		return fmt.Errorf("%w: %q", guard.ErrHeld, left.Metadata.Finalizers)
	}
	return nil
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

// wentAway records that an object is gone, and returns the function that reports it. The caller
// holds the lock.
func (s *Store) wentAway(id exception.Identity, version string, state guard.State) (tell func()) {
	const maxLately = 256 // the newest ones, which a new leader reports: perhaps no guard held the lease then
	if s.ours[state.UID] > 0 {
		delete(s.ours, state.UID)
		return func() {}
	}
	if deleted := s.deleted; deleted != nil {
		return func() { deleted(id, version, state) }
	}
	if len(s.lately) >= maxLately {
		s.lately = s.lately[1:]
	}
	s.lately = append(s.lately, deletion{id, version, state, time.Now()})
	return func() {}
}
