package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
)

// place is the namespace and the name of an object of a known kind.
type place struct{ namespace, name string }

func (p place) identity(gk exception.GroupKind) exception.Identity {
	return exception.Identity{GroupKind: gk, Namespace: p.namespace, Name: p.name}
}

// followed is the state of a watched kind.
type followed struct {
	first chan struct{} // closed after the first list, or when the kind is not served

	// Protected by the lock of the store.
	served bool
	where  resource
	known  map[place]guard.State
	counts map[string]int // by namespace
}

// brief is the part of an object that the store keeps.
type brief struct {
	Name            string `json:"name"`
	Namespace       string `json:"namespace"`
	UID             string `json:"uid"`
	ResourceVersion string `json:"resourceVersion"`
}

const (
	// betweenWatches is the longest pause before the next look for a kind that is not served.
	betweenWatches = 5 * time.Second
	// watchLasts is the minimum time of a watch. The maximum is twice as long.
	watchLasts = 5 * time.Minute
	// longestBackoff is the longest pause before a retry.
	longestBackoff = 15 * time.Second
	// maxEvent is the maximum number of bytes of a line of a watch. An object in etcd is smaller.
	maxEvent = 16 << 20
)

// Watch watches kinds until the context ends. A kind that is not served yet is watched as soon as
// it is served, because Kyverno may be installed after the guard. Another error is reported once
// until it is solved.
func (s *Store) Watch(ctx context.Context, kinds func() []exception.GroupKind, failed func(error)) {
	s.mu.Lock()
	s.running, s.failed = ctx, failed
	s.mu.Unlock()
	close(s.started)
	ticker := time.NewTicker(betweenWatches)
	defer ticker.Stop()
	for ctx.Err() == nil {
		for _, gk := range kinds() {
			s.start(gk)
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// follow waits for the first list of a kind.
func (s *Store) follow(ctx context.Context, gk exception.GroupKind) (*followed, error) {
	select {
	case <-s.started:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f := s.start(gk)
	select {
	case <-f.first:
		return f, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *Store) start(gk exception.GroupKind) *followed {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.kinds[gk]
	if f == nil {
		f = &followed{first: make(chan struct{}), known: map[place]guard.State{}, counts: map[string]int{}}
		s.kinds[gk] = f
		go s.run(s.running, gk, f)
	}
	return f
}

// run lists and watches a kind repeatedly until the context ends.
func (s *Store) run(ctx context.Context, gk exception.GroupKind, f *followed) {
	failures := 0
	for ctx.Err() == nil {
		began := time.Now()
		err := s.listAndWatch(ctx, gk, f)
		most := longestBackoff
		if errors.Is(err, errNotServed) {
			most = betweenWatches
		}
		if time.Since(began) > longestBackoff {
			failures = 0
		}
		wait := min(100*time.Millisecond<<min(failures, 10), most)
		failures++
		s.tell(ctx, gk, err)
		sleep(ctx, wait)
	}
}

// sleep waits for about the given time. The random part spreads the requests of many guards.
func sleep(ctx context.Context, about time.Duration) {
	timer := time.NewTimer(about/2 + rand.N(about/2+1)) //nolint:gosec // no secret
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// tell reports an error once until it is solved.
func (s *Store) tell(ctx context.Context, gk exception.GroupKind, err error) {
	s.mu.Lock()
	failed, told := s.failed, s.told
	s.told = err != nil && (told || !errors.Is(err, errNotServed) && !errors.Is(err, errAgain))
	first := s.told && !told
	s.mu.Unlock()
	if first && ctx.Err() == nil {
		failed(fmt.Errorf("watch %s: %w", gk, err))
	}
}

// errAgain means that the kind has to be listed again. It is not a fault.
var errAgain = errors.New("the watch is too old")

func (s *Store) listAndWatch(ctx context.Context, gk exception.GroupKind, f *followed) error {
	where, err := s.api.find(ctx, gk)
	if errors.Is(err, errNotServed) {
		s.replace(gk, f, resource{}, nil)
	}
	if err != nil {
		return err
	}
	there := map[place]guard.State{}
	version, err := eachPage(ctx, s.api, where, func(items []struct {
		Metadata brief `json:"metadata"`
	}) {
		for _, item := range items {
			m := item.Metadata
			there[place{m.Namespace, m.Name}] = guard.State{UID: m.UID, ResourceVersion: m.ResourceVersion}
		}
	})
	if err != nil {
		return err
	}
	s.replace(gk, f, where, there)
	s.tell(ctx, gk, nil)
	for ctx.Err() == nil {
		began := time.Now()
		if version, err = s.watch(ctx, gk, f, where, version); err != nil {
			return err
		}
		if time.Since(began) < time.Second {
			sleep(ctx, time.Second) // the API server closes the watch at once
		}
	}
	return nil
}

// replace makes the listed objects the known objects of a kind.
func (s *Store) replace(gk exception.GroupKind, f *followed, where resource, there map[place]guard.State) {
	s.mu.Lock()
	var touched []exception.Identity
	var tell []func()
	for at, state := range f.known {
		now, still := there[at]
		if !still || now.UID != state.UID {
			tell = append(tell, s.wentAway(at.identity(gk), f.where.version, state))
		}
		if !still {
			touched = append(touched, at.identity(gk))
		}
	}
	counts := map[string]int{}
	for at, state := range there {
		if counts[at.namespace]++; f.known[at] != state {
			touched = append(touched, at.identity(gk))
		}
	}
	f.where, f.known, f.counts, f.served = where, there, counts, there != nil
	touch := s.touch
	s.mu.Unlock()
	select {
	case <-f.first:
	default:
		close(f.first)
	}
	for _, told := range tell {
		told()
	}
	if touch != nil {
		for _, id := range touched {
			touch(id)
		}
	}
}
