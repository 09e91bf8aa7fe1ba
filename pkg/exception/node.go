package exception

// node is one value with its position in the source. kind selects one of entries (a mapping), items
// (a sequence) and scalar.
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

// mappingInWords names the type of a mapping in messages.
const mappingInWords = "keys with values"

type nodeKind int

const (
	scalarNode nodeKind = iota
	mappingNode
	sequenceNode
)

// object returns the tree as plain Go values. Each call returns a new copy.
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

// find follows path as far as possible; whole reports whether it reached the end. key is the entry
// of the last value, or nil for a list item.
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
