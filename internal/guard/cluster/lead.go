package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// The times of a lease: a guard that does not renew it within renewsWithin stops. Another guard
// takes it after leaseLasts.
const (
	leaseLasts   = 15 * time.Second
	renewsWithin = 10 * time.Second
	asksEvery    = 2 * time.Second
)

// Lease identifies the lease and this guard.
type Lease struct {
	Namespace, Name string
	Identity        string // of this guard; must be unique
}

// Lead runs work while this guard holds the lease, repeatedly until the context ends. A guard that
// loses the lease still answers reviews, because an API server that cannot renew a lease for a
// while still needs a webhook.
func Lead(ctx context.Context, config *rest.Config, l Lease, work func(context.Context)) error {
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, l.Namespace, l.Name,
		resourcelock.ResourceLockConfig{Identity: l.Identity}, config, renewsWithin)
	if err != nil {
		return fmt.Errorf("set up the lease: %w", err)
	}
	lock = bounded{lock}
	for ctx.Err() == nil {
		var working sync.WaitGroup
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: leaseLasts, RenewDeadline: renewsWithin, RetryPeriod: asksEvery, ReleaseOnCancel: true, Name: l.Name,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(ctx context.Context) {
					working.Add(1)
					defer working.Done()
					work(ctx)
				},
				OnStoppedLeading: func() {},
			},
		})
		if err != nil {
			return fmt.Errorf("set up the lease: %w", err)
		}
		elector.Run(ctx)
		working.Wait()
	}
	return nil
}

// bounded limits the duration that a Lease states. A user who may write the Lease could otherwise
// set it to years, and no exception would be deleted in that time.
type bounded struct{ resourcelock.Interface }

// Get reads the Lease.
func (b bounded) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := b.Interface.Get(ctx)
	if err == nil {
		record.LeaseDurationSeconds = min(max(record.LeaseDurationSeconds, 0), int(leaseLasts/time.Second))
	}
	return record, raw, err
}
