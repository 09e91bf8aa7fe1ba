package fair

import (
	"container/list"
	"net"
)

// Places are the places that clients hold. The zero value has none. It is not safe for concurrent
// use.
type Places[T any] struct {
	unused list.List // of *Place[T], the longest unused first
	held   map[string]int
}

// Place is the place of a client.
type Place[T any] struct {
	Value   T
	client  string
	element *list.Element
}

// Len returns the number of places.
func (p *Places[T]) Len() int { return p.unused.Len() }

// Add gives a place to the client at an address, host:port.
func (p *Places[T]) Add(address string, value T) *Place[T] {
	client, _, err := net.SplitHostPort(address)
	if err != nil {
		client = address
	}
	if p.held == nil {
		p.held = map[string]int{}
	}
	p.held[client]++
	place := &Place[T]{Value: value, client: client}
	place.element = p.unused.PushBack(place)
	return place
}

// Use records that a place is used. It has no effect on a place that was removed.
func (p *Places[T]) Use(place *Place[T]) { p.unused.MoveToBack(place.element) }

// Remove takes a place back. It has no effect on a place that was removed.
func (p *Places[T]) Remove(place *Place[T]) {
	if place.element.Value == nil {
		return
	}
	p.unused.Remove(place.element)
	place.element.Value = nil
	if p.held[place.client]--; p.held[place.client] == 0 {
		delete(p.held, place.client)
	}
}

// Next returns the place to take back for a new one, or nil if there is none.
func (p *Places[T]) Next() *Place[T] {
	most := 0
	for _, n := range p.held {
		most = max(most, n)
	}
	for e := p.unused.Front(); e != nil; e = e.Next() {
		if place := e.Value.(*Place[T]); p.held[place.client] == most {
			return place
		}
	}
	return nil
}
