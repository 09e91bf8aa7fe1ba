package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
)

const (
	// maxPending is the number of Events of a type that wait to be written. More are only in the
	// log.
	maxPending = 512
	// maxSeries is the number of Events that are remembered to count repetitions.
	maxSeries = 1024
	// seriesLasts is the time in which a repeated Event is counted instead of written again.
	seriesLasts = 6 * time.Minute
	// eventTakes limits the time of one attempt to write an Event; attempts limits their number.
	eventTakes, attempts = 5 * time.Second, 3
)

// Events writes Events one after the other while [Events.Run] runs, warnings first. A user who
// causes many Events delays only other Events, and the memory is limited.
type Events struct {
	api      *API
	instance string
	log      *slog.Logger
	warnings chan *eventsv1.Event
	others   chan *eventsv1.Event

	dropped atomic.Int64 // since the last line in the log about it
	series  map[sameEvent]*eventsv1.Event
}

// sameEvent is equal for Events with the same content.
type sameEvent struct {
	about        corev1.ObjectReference
	reason, note string
}

// NewEvents returns Events of the guard with this instance name.
func NewEvents(api *API, instance string, log *slog.Logger) *Events {
	return &Events{
		api: api, instance: instance, log: log,
		warnings: make(chan *eventsv1.Event, maxPending), others: make(chan *eventsv1.Event, maxPending),
		series: map[sameEvent]*eventsv1.Event{},
	}
}

// Add queues an Event about an object. It never blocks.
func (e *Events) Add(about *corev1.ObjectReference, kind, reason, action, note string) {
	namespace := cmp.Or(about.Namespace, metav1.NamespaceDefault)
	now := metav1.NowMicro()
	name := about.Name[:min(len(about.Name), 220)]
	event := &eventsv1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: eventsv1.SchemeGroupVersion.String(), Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("%s.%x", strings.TrimRight(name, ".-"), now.UnixNano()),
		},
		EventTime: now, ReportingController: "polex-guard", ReportingInstance: e.instance,
		Type: kind, Reason: reason, Action: action, Note: note, Regarding: *about,
	}
	line := e.others
	if kind == corev1.EventTypeWarning {
		line = e.warnings
	}
	select {
	case line <- event:
	default:
		e.dropped.Add(1)
	}
}

// Run writes Events until the context ends.
func (e *Events) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		select {
		case event := <-e.warnings:
			e.write(ctx, event)
			continue
		default:
		}
		select {
		case <-ctx.Done():
		case event := <-e.warnings:
			e.write(ctx, event)
		case event := <-e.others:
			e.write(ctx, event)
		}
	}
	return nil
}

// write writes an Event, or increases the count of an equal one.
func (e *Events) write(ctx context.Context, event *eventsv1.Event) {
	var err error
	// The random part spreads the requests of many guards.
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 1, Steps: attempts}
	_ = wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (bool, error) {
		err = e.attempt(ctx, event)
		final := apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
		return err == nil || final, nil
	})
	if err != nil && ctx.Err() == nil {
		e.log.Error("failed", "what", "write an Event", "error", err.Error())
	}
	if dropped := e.dropped.Swap(0); dropped > 0 {
		e.log.Warn("Events were dropped: too many at once", "dropped", dropped)
	}
}

func (e *Events) attempt(ctx context.Context, event *eventsv1.Event) error {
	ctx, cancel := context.WithTimeout(ctx, eventTakes)
	defer cancel()
	key := sameEvent{event.Regarding, event.Reason, event.Note}
	path := "/apis/events.k8s.io/v1/namespaces/" + event.Namespace + "/events"
	if before := e.series[key]; before != nil && event.EventTime.Sub(before.EventTime.Time) < seriesLasts {
		count := ptr.Deref(before.Series, eventsv1.EventSeries{Count: 1}).Count
		series := &eventsv1.EventSeries{Count: count + 1, LastObservedTime: event.EventTime}
		patch, err := json.Marshal(map[string]any{"series": series})
		if err != nil {
			return err
		}
		err = e.api.rest.Patch(types.MergePatchType).AbsPath(path + "/" + before.Name).Body(patch).Do(ctx).Error()
		if err == nil {
			before.Series = series
			return nil
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	raw, err := json.Marshal(event)
	if err != nil {
		return err
	}
	request := e.api.rest.Post().AbsPath(path).Body(raw).SetHeader("Content-Type", "application/json")
	if err := request.Do(ctx).Error(); err != nil {
		return err
	}
	if len(e.series) >= maxSeries {
		clear(e.series)
	}
	e.series[key] = event
	return nil
}

// Teller publishes the findings and actions of the guard in the log, in Events and in reports.
type Teller struct {
	Log     *slog.Logger
	Events  *Events
	Reports *Reports
}

var _ guard.Tell = (*Teller)(nil)

// Found reports an object with a new finding.
func (t *Teller) Found(ctx context.Context, f *guard.Finding) {
	level := slog.LevelInfo
	if !f.Passed() {
		level = slog.LevelWarn
		t.event(f, "Refused", "Recheck")
	}
	t.log(ctx, level, "found", f)
}

// Removed reports an object that the guard deleted, with the reason.
func (t *Teller) Removed(ctx context.Context, f *guard.Finding) {
	t.event(f, "Removed", "Delete")
	t.log(ctx, slog.LevelWarn, "removed", f)
}

// Failed reports an operation that failed.
func (t *Teller) Failed(ctx context.Context, what string, err error) {
	t.Log.LogAttrs(ctx, slog.LevelError, "failed", slog.String("what", what), slog.String("error", err.Error()))
}

// Report writes the reports.
func (t *Teller) Report(ctx context.Context, all []*guard.Finding) error {
	return t.Reports.Write(ctx, all)
}

// Deleted reports an object that another client deleted. The watch does not name the user.
func (t *Teller) Deleted(id exception.Identity, version string, state guard.State) {
	const note = "deleted; the audit log of the API server names the user"
	t.Events.Add(reference(id, version, ""), corev1.EventTypeNormal, "Deleted", "Delete", note)
	t.Log.Info("deleted", "object", id.String(), "uid", state.UID)
}

// DefinitionChanged reports that the definition of a kind changed. Every guard reports it, because
// perhaps none holds the lease at that moment.
func (t *Teller) DefinitionChanged(kind exception.GroupKind, state string) {
	name := DefinitionName(kind.Group)
	version, kindName := DefinitionKind.ToAPIVersionAndKind()
	about := &corev1.ObjectReference{APIVersion: version, Kind: kindName, Name: name}
	const note = "Kyverno may have read exceptions by a definition that changed them; " +
		"the guard reads all of them again. Find out who changed it, and run polex-guard check. It is now at "
	t.Events.Add(about, corev1.EventTypeWarning, "DefinitionChanged", "Watch", note+state)
	t.Log.Warn("found", "object", DefinitionKind.Kind+"/"+name, "reason", "definition-changed", "state", state)
}

// ConfigurationRefused writes an Event on the Pod of the guard, or the object that replaces it,
// about a configuration that was rejected.
func (t *Teller) ConfigurationRefused(pod *corev1.ObjectReference, err error) {
	d := guard.Decision{Reason: "configuration-refused", Detail: err.Error(), Hint: "the old one stays"}
	t.Events.Add(pod, corev1.EventTypeWarning, "ConfigurationRefused", "Reload", d.Message())
}

func (t *Teller) event(f *guard.Finding, reason, action string) {
	t.Events.Add(reference(f.Object, f.Version, f.UID), corev1.EventTypeWarning, reason, action, f.Message())
}

func (t *Teller) log(ctx context.Context, level slog.Level, what string, f *guard.Finding) {
	t.Log.LogAttrs(ctx, level, what, slog.String("object", f.Object.String()), slog.String("uid", f.UID),
		slog.String("reason", f.Reason), slog.String("message", f.Message()), slog.String("authority", f.Authority()),
		slog.String("digest", f.Facts.MessageDigest), slog.Time("expires", f.Facts.ExpiresAt))
}

func reference(id exception.Identity, version, uid string) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: schema.GroupVersion{Group: id.Group, Version: version}.String(), Kind: id.Kind,
		Namespace: id.Namespace, Name: id.Name, UID: types.UID(uid),
	}
}
