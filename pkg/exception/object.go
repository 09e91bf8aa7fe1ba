package exception

import (
	"fmt"
	"math"
	"sort"

	"sigs.k8s.io/yaml"
)

// fromValue copies a decoded value into nodes, keys sorted so that everything
// downstream is deterministic.
func fromValue(value any, depth int) (*node, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", MaxDepth)
	}
	switch v := value.(type) {
	case map[string]any:
		n := &node{kind: mappingNode, entries: make([]entry, 0, len(v))}
		for key, item := range v {
			child, err := fromValue(item, depth+1)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", key, err)
			}
			n.entries = append(n.entries, entry{key: key, value: child})
		}
		sort.Slice(n.entries, func(i, j int) bool { return n.entries[i].key < n.entries[j].key })
		return n, nil
	case []any:
		n := &node{kind: sequenceNode, items: make([]*node, len(v))}
		for i, item := range v {
			child, err := fromValue(item, depth+1)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			n.items[i] = child
		}
		return n, nil
	case nil, string, bool, int64:
		return &node{scalar: v}, nil
	case int:
		return &node{scalar: int64(v)}, nil
	case int32:
		return &node{scalar: int64(v)}, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v is not a number that JSON knows", v)
		}
		return &node{scalar: v}, nil
	default:
		return nil, fmt.Errorf("a value of type %T is not one of JSON's", v)
	}
}

// Canonical writes an object the one way polex signs it: block style YAML with
// sorted keys, as sigs.k8s.io/yaml makes it and every Kubernetes tool reads it.
func Canonical(object map[string]any) ([]byte, error) {
	out, err := yaml.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write canonical YAML: %w", err)
	}
	return out, nil
}
