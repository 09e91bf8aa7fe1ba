package guard

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// betweenReleases is how often it is looked how much memory is held for nothing.
	betweenReleases = 2 * time.Second
	// spare is how much may be, so that little work costs no collection.
	spare = 2 << 20
	// headroom is how much is allocated at least between two collections, in bytes. A
	// collection goes through all that is known of the stored exceptions, and a review
	// allocates a quarter of a MiB.
	headroom = 24 << 20
)

// boundMemory gives memory back that a burst of work has left: of thousands of
// exceptions that were read, digests are kept. Go's own scavenger keeps as much again as
// is in use. In a burst it leaves room between two collections.
func boundMemory(ctx context.Context) error {
	ticker := time.NewTicker(betweenReleases)
	defer ticker.Stop()
	percent := 0
	for {
		live, unused := heap()
		if p := gcPercent(live); p != percent {
			percent = p
			debug.SetGCPercent(p)
		}
		if unused > spare {
			debug.FreeOSMemory()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// gcPercent lets the heap grow by headroom, or by as much as is live where that is more.
func gcPercent(live int64) int {
	const least = 4 << 20 // the runtime takes this much for live
	return int(max(100, 100*headroom/max(live, least)))
}

// heap is how many bytes of live objects the last collection found, and how much memory
// the heap has of the operating system beside them. What is unused between live objects
// is not counted: it cannot be given back.
func heap() (live, unused int64) {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/gc/heap/live:bytes"},
	}
	metrics.Read(samples)
	var n [3]int64
	for i, s := range samples {
		n[i] = int64(s.Value.Uint64()) //nolint:gosec // bytes of memory
	}
	return n[2], n[0] + n[1] - n[2]
}
