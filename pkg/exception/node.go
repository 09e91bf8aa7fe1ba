package exception

// node is one value with its place in the source. Exactly one of entries (for a
// mapping), items (for a sequence) and scalar is meant, as kind says.
type node struct {
	kind    nodeKind
	scalar  any // string, bool, int64, float64 or nil
	entries []entry
	items   []*node

	line, column int
	flow         bool // written as {…} or […]
}

type entry struct {
	key          string
	line, column int // of the key
	value        *node
}

type nodeKind int

const (
	scalarNode nodeKind = iota
	mappingNode
	sequenceNode
)

// object returns the tree as plain Go values, freshly made at every call.
func (n *node) object() any {
	switch n.kind {
	case mappingNode:
		m := make(map[string]any, len(n.entries))
		for _, e := range n.entries {
			m[e.key] = e.value.object()
		}
		return m
	case sequenceNode:
		l := make([]any, len(n.items))
		for i, item := range n.items {
			l[i] = item.object()
		}
		return l
	default:
		return n.scalar
	}
}

// find follows path as far as it leads; whole says whether that was all of it.
// The entry returned is the one that holds the last value found.
func (n *node) find(path Path) (at *node, key *entry, whole bool) {
	at = n
	for _, step := range path {
		switch s := step.(type) {
		case string:
			next := at.entry(s)
			if next == nil {
				return at, key, false
			}
			at, key = next.value, next
		case int:
			if s < 0 || s >= len(at.items) {
				return at, key, false
			}
			at, key = at.items[s], nil
		default:
			return at, key, false
		}
	}
	return at, key, true
}

func (n *node) entry(key string) *entry {
	for i := range n.entries {
		if n.entries[i].key == key {
			return &n.entries[i]
		}
	}
	return nil
}
