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

// The times of a lease: who does not renew it in time stops, and another one
// takes it up once it has run out.
const (
	leaseLasts   = 15 * time.Second
	renewsWithin = 10 * time.Second
	asksEvery    = 2 * time.Second
)

// Lease says which guards take turns.
type Lease struct {
	Namespace, Name string
	Identity        string // of this guard; no two have the same
}

// Lead runs work while this guard holds the lease, again and again until the
// context ends. Who loses it goes on answering reviews: what the API server cannot
// renew for a while is no reason to leave it without a guard.
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

// bounded is a lock that believes of nobody that they hold it for longer than a guard
// does without renewing: whoever may write the Lease could otherwise say that it lasts
// for years, and nothing would end in that time.
type bounded struct{ resourcelock.Interface }

// Get reads the Lease.
func (b bounded) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := b.Interface.Get(ctx)
	if err == nil {
		record.LeaseDurationSeconds = min(max(record.LeaseDurationSeconds, 0), int(leaseLasts/time.Second))
	}
	return record, raw, err
}
