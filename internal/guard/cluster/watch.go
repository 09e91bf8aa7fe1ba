package cluster

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// follower receives the states of the objects of one resource.
type follower interface {
	// find returns the resource. It is called before every list.
	find(ctx context.Context) (resource, error)
	// sees receives whether changes are seen. err is nil if the watch has ended and the next one
	// follows.
	sees(watching bool, err error)
	// replace receives all objects.
	replace(all []any)
	// change receives an object that was created, changed or deleted.
	change(o *unstructured.Unstructured, gone bool)
}

// feed passes a resource to a follower. The reflector of client-go lists and watches it, repeats both
// with increasing pauses, and lists again if a watch is too old. It uses the feed as its store.
type feed struct {
	follower
	api          *API
	name         string // for errors
	field        string // selector; "" is any object
	onlyMetadata bool
	failed       func(error) // receives an error once until it is solved

	where    resource // of the last list
	reported bool     // a failure
}

const (
	// shortestBackoff and longestBackoff are the pauses before a retry. A random time of up to the
	// same length is added to them, because many guards may wait.
	shortestBackoff, longestBackoff = 50 * time.Millisecond, 7500 * time.Millisecond
	backoffs                        = 9 // from one to the other
)

// run passes all states to the follower until the context ends.
func (f *feed) run(ctx context.Context) {
	backoff := &wait.Backoff{Duration: shortestBackoff, Cap: longestBackoff, Steps: backoffs, Factor: 2, Jitter: 1}
	source := withoutWatchList{&cache.ListWatch{ListWithContextFunc: f.list, WatchFuncWithContext: f.watch}}
	options := cache.ReflectorOptions{Name: f.name, TypeDescription: f.name, Backoff: backoff}
	reflector := cache.NewReflectorWithOptions(source, nil, f, options)
	reflector.RunWithContext(logr.NewContext(ctx, logr.Discard())) // tell reports the errors
}

// tell passes on whether changes are seen, and a failure. A kind that is not served is no failure.
func (f *feed) tell(ctx context.Context, watching bool, err error) {
	if err != nil && !f.reported && !errors.Is(err, errNotServed) && ctx.Err() == nil {
		f.reported = true
		f.failed(fmt.Errorf("watch %s: %w", f.name, err))
	}
	f.reported = f.reported && !watching
	f.sees(watching, err)
}

// list lists all objects. The resource version is not that of the caller: a list from the cache of an
// API server can be older than the last one.
func (f *feed) list(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	all := &unstructured.UnstructuredList{}
	where, err := f.find(ctx)
	if err == nil {
		var version string
		of := metav1.ListOptions{FieldSelector: f.field}
		version, err = f.api.eachPage(ctx, where, of, f.onlyMetadata, func(o *unstructured.Unstructured) {
			if f.onlyMetadata { // all stay in memory until the last page
				o.SetAnnotations(nil)
				o.SetManagedFields(nil)
				o.SetLabels(nil)
				o.SetOwnerReferences(nil)
				o.SetFinalizers(nil)
			}
			all.Items = append(all.Items, *o)
		})
		all.SetResourceVersion(version)
	}
	if err != nil {
		f.tell(ctx, false, err)
		return nil, err
	}
	f.where = where
	return all, nil
}

// watch watches from a resource version.
func (f *feed) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	lasts := time.Duration(*o.TimeoutSeconds)*time.Second + requestLasts
	limited, cancel := context.WithTimeout(ctx, lasts)
	opens := time.AfterFunc(requestLasts, cancel)
	o.Watch, o.FieldSelector = true, f.field
	request := query(f.api.watches.Get(), f.where, o)
	if f.onlyMetadata {
		request.SetHeader("Accept", partial("PartialObjectMetadata"))
	}
	events, err := request.Watch(limited)
	if err == nil && reflect.TypeOf(events) == reflect.TypeOf(watch.NewEmptyWatch()) {
		err = errors.New("the connection ended") // client-go returns a watch without events instead
	}
	if opens.Stop(); err != nil {
		cancel()
		f.tell(ctx, false, err)
		return nil, err
	}
	f.tell(ctx, true, nil)
	return watched{events, sync.OnceFunc(func() {
		cancel()
		f.tell(ctx, false, nil)
	})}, nil
}

// watched is a watch whose end is told.
type watched struct {
	watch.Interface
	ended func()
}

// Stop ends the watch. The reflector always calls it.
func (w watched) Stop() {
	w.Interface.Stop()
	w.ended()
}

// withoutWatchList makes the reflector list before it watches. Pages need less memory than a list in
// a watch, in the API server too.
type withoutWatchList struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported implements an interface of client-go.
func (withoutWatchList) IsWatchListSemanticsUnSupported() bool { return true }

// Add passes on a new object.
func (f *feed) Add(o any) error { return f.Update(o) }

// Update passes on a changed object.
func (f *feed) Update(o any) error {
	f.change(o.(*unstructured.Unstructured), false)
	return nil
}

// Delete passes on that an object is gone.
func (f *feed) Delete(o any) error {
	f.change(o.(*unstructured.Unstructured), true)
	return nil
}

// Replace passes on the listed objects.
func (f *feed) Replace(all []any, _ string) error {
	f.replace(all)
	return nil
}

// Resync does nothing: the controller has its own interval.
func (f *feed) Resync() error { return nil }
