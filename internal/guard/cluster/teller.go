package cluster

import (
	"context"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
)

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
func (t *Teller) Report(ctx context.Context, all []*guard.Finding) error { return t.Reports.Write(ctx, all) }

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
