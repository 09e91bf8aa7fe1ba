// Package parallel does the same work for many things at once, and hands on what
// comes out in the order in which they came in.
package parallel

import "sync"

// Ordered is work that runs on several goroutines.
type Ordered[In, Out any] struct {
	// Workers is how many things are worked on at once, at least 1. Twice as many
	// are held at most, however many there are.
	Workers int
	// Work is called by the workers.
	Work func(In) Out
	// Done is called with what came in and what came out, in the order of what
	// came in, and never twice at once.
	Done func(In, Out)
}

type job[In, Out any] struct {
	in   In
	out  Out
	done chan struct{}
}

// Each works on everything that source hands to its argument. Source and
// [Ordered.Done] run on the caller's goroutine, and so never at the same time.
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
