package parallel_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/polex-dev/polex/internal/command/parallel"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestOrder: results come in the order of the items, even if later ones are ready first.
func TestOrder(t *testing.T) {
	for _, workers := range []int{0, 1, 3, 64} {
		const n = 500
		var got []int
		parallel.Ordered[int, int]{Workers: workers,
			Work: func(i int) int {
				// Earlier items take longer.
				for range (n - i) * 50 {
					_ = make([]byte, 1)
				}
				return i * i
			},
			Done: func(in, out int) {
				expect.Is(t, fmt.Sprintf("%d", in), in*in, out)
				got = append(got, in)
			},
		}.Each(func(hand func(int)) {
			for i := range n {
				hand(i)
			}
		})
		if len(got) != n || !slices.IsSorted(got) {
			t.Errorf("%d workers: %d of %d, in order: %v", workers, len(got), n, slices.IsSorted(got))
		}
	}
}

// TestAtOnce: the number of items in work equals the number of workers. They wait for each other,
// so with fewer workers the test would not end.
func TestAtOnce(t *testing.T) {
	const workers = 4
	var together sync.WaitGroup
	together.Add(workers)
	done := 0
	parallel.Ordered[int, struct{}]{Workers: workers,
		Work: func(int) struct{} { together.Done(); together.Wait(); return struct{}{} },
		Done: func(int, struct{}) { done++ },
	}.Each(func(hand func(int)) {
		for i := range workers {
			hand(i)
		}
	})
	expect.That(t, done == workers, "%d of %d", done, workers)
}

// TestHeld: the source waits if too many items are in memory, so memory is limited.
func TestHeld(t *testing.T) {
	const workers = 3
	var running atomic.Int64
	handed, done := 0, 0
	parallel.Ordered[int, struct{}]{Workers: workers,
		Work: func(int) struct{} {
			expect.That(t, running.Add(1) <= workers, "more are worked on at once than there are workers")
			running.Add(-1)
			return struct{}{}
		},
		Done: func(int, struct{}) { done++ },
	}.Each(func(hand func(int)) {
		for i := range 1000 {
			hand(i)
			handed++
			held := handed - done
			must.That(t, held <= 2*workers, "%d are held", held)
		}
	})
	expect.That(t, done == 1000, "%d of 1000", done)
}

// TestNothing ends without items.
func TestNothing(t *testing.T) {
	parallel.Ordered[int, int]{Workers: 2}.Each(func(func(int)) {})
}
