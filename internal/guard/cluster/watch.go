package cluster

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// feed is a resource that the reflector of client-go lists and watches. The reflector repeats both
// with increasing pauses and lists again if a watch is too old.
type feed struct {
	api   *API
	field string // selector; "" is any object
	// list returns all objects, reduced to the kept fields, and the resource to watch.
	list func(context.Context) (runtime.Object, resource, error)
	// object decodes the object of an event and reduces it.
	object func(watch.EventType, []byte) (runtime.Object, error)
	// state receives whether changes are seen, and the error if not. nil: the watch has ended, and
	// the next one follows.
	state func(watching bool, err error)

	where resource // of the last list
}

const (
	// shortestBackoff and longestBackoff are the pauses before a retry. A random time of up to the
	// same length is added to them, because many guards may wait.
	shortestBackoff, longestBackoff = 50 * time.Millisecond, 7500 * time.Millisecond
	backoffs                        = 9 // from one to the other
	// maxEvent is the maximum number of bytes of a line of a watch. An object in etcd is smaller.
	maxEvent = 16 << 20
)

// run passes all states to a store until the context ends.
func (f *feed) run(ctx context.Context, name string, into cache.ReflectorStore) {
	backoff := &wait.Backoff{Duration: shortestBackoff, Cap: longestBackoff, Steps: backoffs, Factor: 2, Jitter: 1}
	source := withoutWatchList{&cache.ListWatch{ListWithContextFunc: f.listAll, WatchFuncWithContext: f.watch}}
	options := cache.ReflectorOptions{Name: name, TypeDescription: name, Backoff: backoff}
	reflector := cache.NewReflectorWithOptions(source, nil, into, options)
	reflector.RunWithContext(logr.NewContext(ctx, logr.Discard())) // state reports the errors
}

// listAll lists all objects. The resource version is not that of the caller: a list from the
// cache of an API server can be older than the last one.
func (f *feed) listAll(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	all, where, err := f.list(ctx)
	if err != nil {
		f.state(false, err)
		return nil, err
	}
	f.where = where
	return all, nil
}

// watch watches from a resource version.
func (f *feed) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	lasts := time.Duration(*o.TimeoutSeconds)*time.Second + requestLasts
	ctx, cancel := context.WithTimeout(ctx, lasts)
	opens := time.AfterFunc(requestLasts, cancel)
	request := f.api.watches.Get().AbsPath(f.where.at("", "")).
		Param("watch", "true").Param("allowWatchBookmarks", "true").
		Param("resourceVersion", o.ResourceVersion).Param("timeoutSeconds", fmt.Sprint(*o.TimeoutSeconds))
	if f.field != "" {
		request = request.Param("fieldSelector", f.field)
	}
	stream, err := request.Stream(ctx)
	if opens.Stop(); err != nil {
		cancel()
		f.state(false, err)
		return nil, err
	}
	lines := bufio.NewScanner(stream)
	lines.Buffer(make([]byte, 0, 64<<10), maxEvent)
	f.state(true, nil)
	end := sync.OnceFunc(func() { f.state(false, nil) })
	events := &events{feed: f, lines: lines, end: func() { cancel(); _ = stream.Close(); end() }}
	reporter := apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "WatchDecoding")
	return watch.NewStreamWatcher(events, reporter), nil
}

// withoutWatchList makes the reflector list before it watches. Pages need less memory than a list in
// a watch, in the API server too.
type withoutWatchList struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported implements an interface of client-go.
func (withoutWatchList) IsWatchListSemanticsUnSupported() bool { return true }

// events decodes the lines of a watch.
type events struct {
	feed  *feed
	lines *bufio.Scanner
	end   func()
}

// Decode returns the next event.
func (e *events) Decode() (watch.EventType, runtime.Object, error) {
	if !e.lines.Scan() {
		err := e.lines.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			e.feed.state(false, err)
		}
		return "", nil, cmp.Or(err, io.EOF)
	}
	var event struct {
		Type   watch.EventType `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := decode(e.lines.Bytes(), &event); err != nil {
		return "", nil, fmt.Errorf("read an event: %w", err)
	}
	if event.Type != watch.Error {
		o, err := e.feed.object(event.Type, event.Object)
		return event.Type, o, err
	}
	status := &metav1.Status{}
	if err := decode(event.Object, status); err != nil {
		return "", nil, fmt.Errorf("read an event: %w", err)
	}
	if status.Code != http.StatusGone { // then everything is listed again
		e.feed.state(false, apierrors.FromObject(status))
	}
	return watch.Error, status, nil
}

// Close ends the watch.
func (e *events) Close() { e.end() }
