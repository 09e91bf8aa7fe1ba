// Package parallel processes items on several goroutines and returns the results in the order of
// the items.
package parallel

import "sync"

// Ordered processes items on several goroutines.
type Ordered[In, Out any] struct {
	// Workers is the number of goroutines, at least 1. At most twice as many items are in memory.
	Workers int
	// Work runs on the workers.
	Work func(In) Out
	// Done is called for one item and its result at a time, in the order of the items.
	Done func(In, Out)
}

type job[In, Out any] struct {
	in   In
	out  Out
	done chan struct{}
}

// Each processes all items that source passes to its argument. source and [Ordered.Done] run on the
// goroutine of the caller, so never at the same time.
func (o Ordered[In, Out]) Each(source func(hand func(In))) {
	held := 2 * max(o.Workers, 1)
	work := make(chan *job[In, Out], held)
	var workers sync.WaitGroup
	for range max(o.Workers, 1) {
		workers.Go(func() {
			for j := range work {
				j.out = o.Work(j.in)
				close(j.done)
			}
		})
	}
	defer workers.Wait()
	defer close(work)

	waiting := make(chan *job[In, Out], held)
	settle := func() {
		j := <-waiting
		<-j.done
		o.Done(j.in, j.out)
	}
	source(func(in In) {
		if len(waiting) == held {
			settle()
		}
		j := &job[In, Out]{in: in, done: make(chan struct{})}
		waiting <- j
		work <- j
	})
	for len(waiting) > 0 {
		settle()
	}
}
