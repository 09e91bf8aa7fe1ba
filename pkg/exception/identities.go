package exception

// Identities finds duplicate objects in a run. It uses some hundred bytes for each object. Two
// documents with the same identity must not both be accepted, since the applied one would be
// random. The zero value is empty. Only one goroutine may use it at a time.
type Identities struct {
	first map[IdentityKey]Position
}

// Add adds a document. If its object was added before, it returns the position of the first
// document and true.
func (ids *Identities) Add(d *Document) (first Position, met bool) {
	id := d.Identity().Key()
	if first, met = ids.first[id]; met {
		return first, true
	}
	if ids.first == nil {
		ids.first = map[IdentityKey]Position{}
	}
	ids.first[id] = d.Position()
	return Position{}, false
}
