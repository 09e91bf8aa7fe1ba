package cluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"regexp"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// LeaseLasts is the time after which another guard takes a lease that was not renewed. A guard that
// does not renew it within renewsWithin stops.
const (
	LeaseLasts   = 15 * time.Second
	renewsWithin = 10 * time.Second
	asksEvery    = 2 * time.Second
)

// Lease identifies the lease and this guard.
type Lease struct {
	Namespace, Name string
	Identity        string // of this guard; must be unique
}

// NewIdentity returns a new identity of a guard on a host.
func NewIdentity(host string) string { return host + "_" + rand.Text() }

var identity = regexp.MustCompile("._[A-Z2-7]{26,}$")

// IsIdentity reports whether a text has the form of the identity of a guard. It is no proof.
func IsIdentity(text string) bool { return identity.MatchString(text) }

// Lead runs work while this guard holds the lease, repeatedly until the context ends. A guard that
// loses the lease still answers reviews, because an API server that cannot renew a lease for a
// while still needs a webhook.
func Lead(ctx context.Context, config *rest.Config, l Lease, work func(context.Context)) error {
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, l.Namespace, l.Name,
		resourcelock.ResourceLockConfig{Identity: l.Identity}, config, renewsWithin)
	if err != nil {
		return fmt.Errorf("set up the lease: %w", err)
	}
	for ctx.Err() == nil {
		if err := leadOnce(ctx, bounded{Interface: lock}, l.Name, work); err != nil {
			return fmt.Errorf("set up the lease: %w", err)
		}
	}
	return nil
}

// leadOnce waits for the lease, runs work once, and releases the lease after work has returned. The
// elector would release it first, and another guard would work beside this one.
func leadOnce(ctx context.Context, lock bounded, name string, work func(context.Context)) error {
	electing, stop := context.WithCancel(context.WithoutCancel(ctx)) // renews the lease until work has returned
	defer stop()
	var leads atomic.Bool
	lock.seen = func(holder string) {
		if leads.Load() && holder != "" && holder != lock.Identity() {
			stop() // the elector itself would try for renewsWithin to get the lease back
		}
	}
	started, ended := make(chan context.Context), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: LeaseLasts, RenewDeadline: renewsWithin, RetryPeriod: asksEvery, Name: name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				select {
				case started <- leading:
				case <-leading.Done():
				}
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	go func() {
		defer close(ended)
		elector.Run(electing)
	}()
	select {
	case leading := <-started:
		leads.Store(true)
		working, end := context.WithCancel(leading)
		defer context.AfterFunc(ctx, end)()
		work(working)
		end()
	case <-ended:
	case <-ctx.Done():
	}
	stop()
	<-ended
	lock.release()
	return nil
}

// bounded limits the numbers that a Lease states. A user who may write the Lease could otherwise set
// its duration to years, and no exception would be deleted in that time. The next number of transitions
// has to fit into the Lease: the API server rejects a negative one, and no guard could ever lead.
type bounded struct {
	resourcelock.Interface
	seen func(holder string)
}

// Get reads the Lease.
func (b bounded) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := b.Interface.Get(ctx)
	if err == nil {
		record.LeaseDurationSeconds = min(max(record.LeaseDurationSeconds, 0), int(LeaseLasts/time.Second))
		record.LeaderTransitions = min(record.LeaderTransitions, math.MaxInt32-1)
		b.seen(record.HolderIdentity)
	}
	return record, raw, err
}

// release gives the lease up if this guard still holds it. Otherwise, and after an error, it runs out.
func (b bounded) release() {
	ctx, cancel := context.WithTimeout(context.Background(), renewsWithin)
	defer cancel()
	record, _, err := b.Get(ctx)
	if err != nil || record.HolderIdentity != b.Identity() {
		return
	}
	now := metav1.Now()
	_ = b.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
	})
}
