package guard

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// betweenReleases is the interval between checks for unused memory.
	betweenReleases = 2 * time.Second
	// spare is the unused memory in bytes that is not released, so that light load causes no
	// collection.
	spare = 2 << 20
	// headroom is the number of bytes that are allocated between two collections, in addition to
	// the live heap. A collection scans the data of all stored exceptions, and a review allocates
	// 256 KiB.
	headroom = 8 << 20
)

// boundMemory releases memory after a burst of work. The guard reads thousands of exceptions and
// keeps only their digests. Go's scavenger alone would keep as much unused memory as is in use.
//
// It also holds headroom bytes that it never writes to. They take no physical memory, and delay the
// next collection by that many bytes. A higher GOGC would let the heap grow to a multiple under
// load.
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

// unused returns the heap memory in bytes that the last collection did not find live. It leaves out
// the gaps between live objects, because they cannot be released.
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
