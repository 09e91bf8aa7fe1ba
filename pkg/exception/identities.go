package exception

// Identities remembers which objects a run has met, and where: some hundred
// bytes for each, whatever its name. Two documents of one identity must not both
// be accepted: which of them ends up applied is chance. The zero value is empty;
// it is not for several goroutines at once.
type Identities struct {
	first map[IdentityKey]Position
}

// Add remembers a document. When its object was met before, it returns where,
// and true.
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
