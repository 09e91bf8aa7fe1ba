package guard

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// betweenReleases is how often it is looked how much memory is held for nothing.
	betweenReleases = 2 * time.Second
	// spare is how much may be, so that little work costs no collection.
	spare = 2 << 20
	// headroom is how much more is allocated between two collections than is live, in
	// bytes. A collection goes through all that is known of the stored exceptions, and a
	// review allocates a quarter of a MiB.
	headroom = 8 << 20
)

// boundMemory gives memory back that a burst of work has left: of thousands of
// exceptions that were read, digests are kept. Go's own scavenger keeps as much again as
// is in use.
//
// Meanwhile it holds as much as headroom and never writes to it, so that the next
// collection comes later by that, and no memory is taken for it. A higher GOGC would let
// the heap of a flood grow to a multiple of what is live.
func boundMemory(ctx context.Context) error {
	untouched := make([]byte, headroom)
	defer runtime.KeepAlive(untouched)
	ticker := time.NewTicker(betweenReleases)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if unused() > spare {
				debug.FreeOSMemory()
			}
		}
	}
}

// unused is how much memory the heap has of the operating system beside the live objects
// that the last collection found, in bytes. What is unused between live objects is not
// counted: it cannot be given back.
func unused() int64 {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/gc/heap/live:bytes"},
	}
	metrics.Read(samples)
	var n [3]int64
	for i, s := range samples {
		n[i] = int64(s.Value.Uint64()) //nolint:gosec // bytes of memory
	}
	return n[0] + n[1] - n[2]
}
