package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/polex-dev/polex/internal/guard/cluster"
)

// leader checks that a guard holds the Lease, and can renew it. Without a leader, no guard deletes
// an expired exception.
func (k *checkup) leader(ctx context.Context) {
	const subject = "leases/" + leaseName
	defer k.unlessFound(subject, "a guard holds it, and can renew it")()
	var lease coordinationv1.Lease
	read := func() error {
		return k.Client.Get(ctx, types.NamespacedName{Namespace: k.Namespace, Name: leaseName}, &lease)
	}
	err := read()
	holder, renewed := ptr.Deref(lease.Spec.HolderIdentity, ""), ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{})
	why := ""
	switch {
	case apierrors.IsNotFound(err), err == nil && holder == "":
		why = "nobody holds it"
	case err != nil:
		k.unknown(subject, err)
	case k.Now().Sub(renewed.Time).Abs() > cluster.LeaseLasts+tolerance: // a guard takes over by its own clock
		why = fmt.Sprintf("its holder %q renewed it at %s", holder, timestamp(renewed.Time))
	case !cluster.IsIdentity(holder):
		why = fmt.Sprintf("its holder %q is not a guard", holder)
	}
	if why != "" {
		k.report(subject, "no-leader", "%s, so no guard deletes expired exceptions", why)
	}
	if err != nil {
		return // the function permissions reports a missing right
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error { // the leader renews it meanwhile
		if err := read(); err != nil {
			return err
		}
		lease.Spec.RenewTime = &metav1.MicroTime{Time: k.Now()}
		return k.Client.Update(ctx, &lease, client.DryRunAll)
	})
	k.accepted(subject, Wrong, "no guard can hold it", err)
	const namespace, check = metav1.NamespaceDefault, "check"
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: leaseName + "-" + check},
		EventTime:  metav1.MicroTime{Time: k.Now()}, ReportingController: leaseName, ReportingInstance: check,
		Type: corev1.EventTypeNormal, Reason: check, Action: check,
		Regarding: corev1.ObjectReference{Namespace: namespace},
	}
	err = k.Client.Create(ctx, event, client.DryRunAll)
	k.accepted("events", Doubtful, "only the log, the metrics and the reports tell the findings", err)
}

// accepted reports a dry run of a write of the guard that the API server rejects, for example because
// of a policy or a quota.
func (k *checkup) accepted(subject string, outcome Outcome, effect string, err error) {
	var status apierrors.APIStatus
	switch {
	case err == nil:
	case errors.As(err, &status):
		k.report(subject, "write-rejected", "the API server rejects what the guard writes, so %s: %s", effect,
			err).Outcome = outcome
	default:
		k.unknown(subject, err)
	}
}

// tolerance is the tolerated difference of two clocks. The API server sends whole seconds, and its
// answer takes some time.
const tolerance = 5 * time.Second

// clock compares the clock with that of the API server, because the start and the expiry of
// exceptions depend on it.
func (k *checkup) clock(ctx context.Context) {
	const subject = "clock"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, k.Host+"/version", nil)
	if !k.known(subject, err) {
		return
	}
	answer, err := k.HTTP.Do(request)
	if !k.known(subject, err) {
		return
	}
	defer answer.Body.Close()
	theirs, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		k.unknown(subject, fmt.Errorf("the API server states no time: %w", err))
		return
	}
	if apart := k.Now().Sub(theirs).Abs(); apart > tolerance {
		k.report(subject, "clock-differs", "this clock and the API server's are %s apart", apart.Round(time.Second))
		return
	}
	k.fine(subject, "it agrees with the clock of the API server")
}
