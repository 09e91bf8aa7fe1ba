package fair

import (
	"container/list"
	"net"
	"sync"
)

// Places are the places that clients hold, at most Most. It is safe for concurrent use.
type Places[T any] struct {
	Most int

	mu     sync.Mutex
	unused list.List // of *Place[T], the longest unused first
	held   map[string]int
}

// Place is the place of a client.
type Place[T any] struct {
	value   T
	of      *Places[T]
	client  string
	element *list.Element
}

// Add gives a place to the client at an address, host:port. If all are taken, the value of another
// place is passed to evict, which must return at once. If it returns false, that client keeps its place,
// and Add returns nil.
func (p *Places[T]) Add(address string, value T, evict func(T) bool) *Place[T] {
	client, _, err := net.SplitHostPort(address)
	if err != nil {
		client = address
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unused.Len() >= p.Most {
		loses := p.next()
		if !evict(loses.value) {
			return nil
		}
		p.remove(loses)
	}
	if p.held == nil {
		p.held = map[string]int{}
	}
	p.held[client]++
	place := &Place[T]{value: value, of: p, client: client}
	place.element = p.unused.PushBack(place)
	return place
}

// next returns the place to take back for a new one.
func (p *Places[T]) next() *Place[T] {
	most := 0
	for _, n := range p.held {
		most = max(most, n)
	}
	e := p.unused.Front()
	for p.held[e.Value.(*Place[T]).client] < most {
		e = e.Next()
	}
	return e.Value.(*Place[T])
}

func (p *Places[T]) remove(place *Place[T]) {
	if place.element.Value == nil {
		return
	}
	p.unused.Remove(place.element)
	place.element.Value = nil
	if p.held[place.client]--; p.held[place.client] == 0 {
		delete(p.held, place.client)
	}
}

// Use records that a place is used. It has no effect on a place that was removed.
func (p *Place[T]) Use() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.of.unused.MoveToBack(p.element)
}

// Remove takes the place back. It has no effect on a place that was removed. Its value is not passed to
// a function afterwards.
func (p *Place[T]) Remove() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.of.remove(p)
}
