package exception

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"

	goyaml "go.yaml.in/yaml/v2"
	"sigs.k8s.io/yaml"
)

// fromValue copies a decoded value into nodes, with sorted keys so that all results are
// deterministic.
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
			return nil, fmt.Errorf("%v is not a valid JSON number", v)
		}
		return &node{scalar: v}, nil
	default:
		return nil, fmt.Errorf("a value of type %T is not one of JSON's", v)
	}
}

// Canonical writes an object in the form that polex signs: block style YAML with keys in byte
// order. Every Kubernetes tool reads it. A whole float is written as an integer, as Kubernetes
// does, if it fits one of 64 bits. A text with a line separator other than a newline (U+0085,
// U+2028, U+2029) is an error: YAML writers do not agree on its form.
func Canonical(object map[string]any) ([]byte, error) {
	// yaml.Marshal of sigs.k8s.io changes the order of keys such as "7X" and "BA" at every call.
	ordered := yaml.JSONObjectToYAMLObject(object)
	if err := order(ordered); err != nil {
		return nil, fmt.Errorf("write canonical YAML: %w", err)
	}
	out, err := goyaml.Marshal(ordered)
	if err != nil {
		return nil, fmt.Errorf("write canonical YAML: %w", err)
	}
	return out, nil
}

// unsigned returns an integer of more than 63 bits as the float that sigs.k8s.io/yaml made it of, and any
// other value as it is. No reader accepts such an integer.
func unsigned(value any) any {
	if whole, is := value.(uint64); is {
		return float64(whole)
	}
	return value
}

func order(value any) error {
	switch v := value.(type) {
	case goyaml.MapSlice:
		sort.Slice(v, func(i, j int) bool {
			a, _ := v[i].Key.(string)
			b, _ := v[j].Key.(string)
			return a < b
		})
		for i := range v {
			if err := errors.Join(order(v[i].Key), order(v[i].Value)); err != nil {
				return err
			}
			v[i].Value = unsigned(v[i].Value)
		}
	case []any:
		for i, item := range v {
			if err := order(item); err != nil {
				return err
			}
			v[i] = unsigned(item)
		}
	case string:
		if i := strings.IndexAny(v, "\u0085\u2028\u2029"); i >= 0 {
			return fmt.Errorf("%q has a line separator that is not a newline", Shortened(v))
		}
	}
	return nil
}
