package exception

import "go.yaml.in/yaml/v3"

// anchored is a finished value with an anchor. Aliases share it, so they cost no memory here. But
// each alias counts with the full size, since all readers of the document write aliases out.
type anchored struct {
	node                *node
	nodes, text, levels int // in it and below it; text is the bytes of its keys and values
}

func (b *yamlBuilder) alias(n *yaml.Node, depth int) (*node, error) {
	known := b.anchors[n.Alias]
	if known == nil {
		return nil, b.errorf(n, "the alias *%s is inside the value that it refers to", n.Value)
	}
	if depth+known.levels > MaxDepth {
		return nil, b.errorf(n, "nested deeper than %d levels", MaxDepth)
	}
	b.left, b.leftText, b.deepest = b.left-known.nodes, b.leftText-known.text, max(b.deepest, depth+known.levels)
	if b.leftText < 0 {
		return nil, b.hinted(n, "write the values out, in several documents",
			"the document has more than %d MiB of text when its aliases are written out", maxExpanded>>20)
	}
	if b.left < 0 {
		return nil, b.hinted(n, "write the values out, in several documents",
			"the document has too many values when its aliases are written out")
	}
	return known.node, nil
}

// merge adds the missing keys from a mapping, or from each mapping of a list. If kubectl lets a
// merge key override a key beside it, [agree] rejects the document.
func (b *yamlBuilder) merge(out *node, seen map[string]int, n *yaml.Node, depth int) error {
	value, err := b.build(n, depth)
	if err != nil {
		return err
	}
	from := []*node{value}
	if value.kind == sequenceNode {
		from = value.items
	}
	for _, mapping := range from {
		if mapping.kind != mappingNode {
			return b.errorf(n, "a merge key requires a mapping or a list of mappings")
		}
		for _, e := range mapping.entries {
			if _, set := seen[e.key]; !set {
				seen[e.key] = e.line
				out.entries = append(out.entries, e)
			}
		}
	}
	return nil
}
