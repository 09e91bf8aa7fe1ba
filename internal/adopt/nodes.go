package adopt

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// change returns a document after a change of its nodes. The function reports whether it changed
// any. Comments stay.
func change(content []byte, change func(root *yaml.RNode) (bool, error)) ([]byte, error) {
	root, err := yaml.Parse(string(content))
	if errors.Is(err, io.EOF) {
		return content, nil // only comments
	} else if err != nil {
		return nil, err
	}
	if changed, err := change(root); err != nil || !changed {
		return content, err
	}
	if root.YNode().Kind == yaml.MappingNode && len(root.YNode().Content) == 0 {
		return nil, nil
	}
	style := yaml.SequenceIndentStyle(yaml.DeriveSeqIndentStyle(string(content)))
	out, err := yaml.MarshalWithOptions(root.Document(), &yaml.EncoderOptions{SeqIndent: style})
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(content, []byte("---")) {
		out = append([]byte("---\n"), out...)
	}
	_, err = yaml.Parse(string(out)) // fails if an anchor was removed but its alias was not
	return out, err
}

// dropEntries removes the entries of a top-level list for which leaves returns true. It removes the
// key of an empty list too.
func dropEntries(content []byte, name string, leaves func(i int) bool) ([]byte, error) {
	return change(content, func(root *yaml.RNode) (bool, error) {
		list := root.Field(name)
		if list.IsNilOrEmpty() || list.Value.YNode().Kind != yaml.SequenceNode {
			return false, nil
		}
		node := list.Value.YNode()
		before, i := len(node.Content), -1
		node.Content = slices.DeleteFunc(node.Content, func(*yaml.Node) bool { i++; return leaves(i) })
		if len(node.Content) == 0 {
			return true, root.PipeE(yaml.Clear(name))
		}
		return len(node.Content) < before, nil
	})
}

// addEntry inserts an entry after another one of a top-level list.
func addEntry(content []byte, name, behind, entry string) ([]byte, error) {
	return change(content, func(root *yaml.RNode) (bool, error) {
		node := root.Field(name).Value.YNode()
		i := slices.IndexFunc(node.Content, func(n *yaml.Node) bool { return n.Value == behind })
		node.Content = slices.Insert(node.Content, i+1, yaml.NewStringRNode(entry).YNode())
		return true, nil
	})
}

// edited sets fields below a path, and removes the fields with a nil value.
func edited(content []byte, fields map[string]any, path ...string) ([]byte, error) {
	return change(content, func(root *yaml.RNode) (bool, error) {
		of, err := root.Pipe(yaml.Lookup(path...))
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			var node yaml.Node
			if err == nil {
				err = node.Encode(fields[name])
			}
			if err == nil && fields[name] == nil {
				err = of.PipeE(yaml.Clear(name))
			} else if err == nil {
				err = of.PipeE(yaml.SetField(name, yaml.NewRNode(&node)))
			}
		}
		return true, err
	})
}
