package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/guard"
)

// Store is what an API server stores. It is safe for use by many goroutines.
type Store struct {
	cache  cache.Cache
	live   client.Client // which asks the API server at every call
	mapper meta.RESTMapper

	mu      sync.Mutex
	watched map[exception.GroupKind]schema.GroupVersionKind
	touch   func(exception.Identity)
}

// NewStore makes a store of a cache and of a client that does without it.
func NewStore(c cache.Cache, live client.Client) *Store {
	return &Store{cache: c, live: live, mapper: live.RESTMapper(), watched: map[exception.GroupKind]schema.GroupVersionKind{}}
}

var _ guard.Store = (*Store)(nil)

// Notify calls touch for every object that is there, comes, changes or goes, from
// now on. Another call replaces it.
func (s *Store) Notify(touch func(exception.Identity)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.touch = touch
}

func (s *Store) touched(gk exception.GroupKind, object any) {
	if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	o, ok := object.(client.Object)
	if !ok {
		return
	}
	s.mu.Lock()
	touch := s.touch
	s.mu.Unlock()
	if touch != nil {
		touch(exception.Identity{GroupKind: gk, Namespace: o.GetNamespace(), Name: o.GetName()})
	}
}

// watch begins to watch a kind, and returns the version that it is watched in. A
// kind that is not served is a [meta.NoKindMatchError].
func (s *Store) watch(ctx context.Context, gk exception.GroupKind) (schema.GroupVersionKind, error) {
	s.mu.Lock()
	gvk, known := s.watched[gk]
	s.mu.Unlock()
	if known {
		return gvk, nil
	}
	mapping, err := s.mapper.RESTMapping(schema.GroupKind{Group: gk.Group, Kind: gk.Kind})
	if err != nil {
		return gvk, err
	}
	gvk = mapping.GroupVersionKind
	informer, err := s.cache.GetInformer(ctx, empty(gvk))
	if err != nil {
		return gvk, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.watched[gk]; known {
		return gvk, nil
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.touched(gk, o) },
		UpdateFunc: func(_, o any) { s.touched(gk, o) },
		DeleteFunc: func(o any) { s.touched(gk, o) },
	}); err != nil {
		return gvk, err
	}
	s.watched[gk] = gvk
	return gvk, nil
}

// betweenWatches is how long a kind that is not served waits to be asked for again.
const betweenWatches = 5 * time.Second

// Watch watches kinds until the context ends, those that are not served yet as soon as
// they are: what delivers the guard may deliver Kyverno after it. What else is in the
// way is told once, until it is gone.
func (s *Store) Watch(ctx context.Context, kinds func() []exception.GroupKind, failed func(error)) {
	ticker := time.NewTicker(betweenWatches)
	defer ticker.Stop()
	told := false
	for ctx.Err() == nil {
		err := s.watchAll(ctx, kinds())
		if err != nil && !told {
			failed(err)
		}
		told = err != nil
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

func (s *Store) watchAll(ctx context.Context, kinds []exception.GroupKind) (err error) {
	for _, gk := range kinds {
		if _, problem := s.watch(ctx, gk); !meta.IsNoMatchError(problem) {
			err = errors.Join(err, problem)
		}
	}
	return err
}

// Identities returns which objects there are of some kinds.
func (s *Store) Identities(ctx context.Context, kinds []exception.GroupKind) ([]exception.Identity, error) {
	var all []exception.Identity
	for _, gk := range kinds {
		list, err := s.list(ctx, gk)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			all = append(all, exception.Identity{GroupKind: gk, Namespace: list.Items[i].GetNamespace(), Name: list.Items[i].GetName()})
		}
	}
	return all, nil
}

// Count returns how many objects of a kind stand in a namespace, as the cache
// knows it.
func (s *Store) Count(ctx context.Context, gk exception.GroupKind, namespace string) (int, error) {
	list, err := s.list(ctx, gk, client.InNamespace(namespace))
	if err != nil {
		return 0, fmt.Errorf("count the objects of %q: %w", namespace, err)
	}
	return len(list.Items), nil
}

func (s *Store) list(ctx context.Context, gk exception.GroupKind, options ...client.ListOption) (*unstructured.UnstructuredList, error) {
	gvk, err := s.watch(ctx, gk)
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	return list, s.cache.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...)
}

// Known returns an object as the cache knows it.
func (s *Store) Known(ctx context.Context, id exception.Identity) (*guard.Object, error) {
	gvk, err := s.watch(ctx, id.GroupKind)
	if err != nil {
		return nil, err
	}
	return read(ctx, s.cache, gvk, id)
}

// Read asks the API server for an object in a version.
func (s *Store) Read(ctx context.Context, id exception.Identity, version string) (*guard.Object, error) {
	return read(ctx, s.live, schema.GroupVersionKind{Group: id.Group, Version: version, Kind: id.Kind}, id)
}

func read(ctx context.Context, from client.Reader, gvk schema.GroupVersionKind, id exception.Identity) (*guard.Object, error) {
	o := empty(gvk)
	if err := from.Get(ctx, types.NamespacedName{Namespace: id.Namespace, Name: id.Name}, o); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, guard.ErrGone
		}
		return nil, err
	}
	doc, err := exception.FromObject(o.Object)
	if err != nil {
		return nil, err
	}
	return &guard.Object{Document: doc, UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion()}, nil
}

// Delete deletes an object as long as it is the one, in the state, that was
// judged.
func (s *Store) Delete(ctx context.Context, id exception.Identity, judged *guard.Object) error {
	o := empty(schema.GroupVersionKind{Group: id.Group, Version: judged.Document.Version(), Kind: id.Kind})
	o.SetNamespace(id.Namespace)
	o.SetName(id.Name)
	uid := types.UID(judged.UID)
	err := s.live.Delete(ctx, o, client.Preconditions(metav1.Preconditions{UID: &uid, ResourceVersion: &judged.ResourceVersion}))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return guard.ErrGone
	}
	return err
}

func empty(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	return o
}
