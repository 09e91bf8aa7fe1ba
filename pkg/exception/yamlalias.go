package exception

import (
	"bytes"
	"fmt"
	"math"

	"go.yaml.in/yaml/v3"
)

// anchored is a value with an anchor, once it is built. Aliases share it, so that their number
// costs nothing here; its size is counted for each, since all that reads the document writes
// them out.
type anchored struct {
	node                *node
	nodes, text, levels int // in it, and below it; text is the bytes of its keys and values
}

func (b *yamlBuilder) alias(n *yaml.Node, depth int) (*node, error) {
	known := b.anchors[n.Alias]
	if known == nil {
		return nil, b.errorf(n, "the alias *%s stands within the value that it refers to", n.Value)
	}
	if depth+known.levels > MaxDepth {
		return nil, b.errorf(n, "nested deeper than %d levels", MaxDepth)
	}
	b.left, b.leftText, b.deepest = b.left-known.nodes, b.leftText-known.text, max(b.deepest, depth+known.levels)
	if b.leftText < 0 {
		return nil, b.hinted(n, "write the values out, in several documents", "the document has more than %d MiB of text when its aliases are written out", maxExpanded>>20)
	}
	if b.left < 0 {
		return nil, b.hinted(n, "write the values out, in several documents", "the document has too many values when its aliases are written out")
	}
	return known.node, nil
}

// merge adds the keys of a mapping, or of each mapping of a list, that are not set yet. Where
// kubectl lets a merge key win over a key beside it, [agree] refuses the document.
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
			return b.errorf(n, "a merge key takes a mapping or a list of mappings")
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

// CheckAliases is for a YAML document that another reader is to read, which writes aliases
// out. It returns an error where they stand for more than 8 MiB of text, as [Reader.Aliases]
// does, and where they cannot be counted.
func CheckAliases(raw []byte) error {
	if bytes.IndexByte(raw, '*') < 0 || bytes.IndexByte(raw, '&') < 0 {
		return nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return fmt.Errorf("its aliases cannot be counted: %w", err)
	}
	sizes, aliases := map[*yaml.Node]int{}, false
	var size func(n *yaml.Node) int
	size = func(n *yaml.Node) int {
		if n.Kind == yaml.AliasNode {
			aliases = true
			return sizes[n.Alias] // 0 within itself, which no reader takes
		}
		sum := 1 + len(n.Value)
		for _, c := range n.Content {
			sum = min(sum+size(c), math.MaxInt32)
		}
		if n.Anchor != "" {
			sizes[n] = sum
		}
		return sum
	}
	if size(&doc) > maxExpanded && aliases {
		return fmt.Errorf("it has more than %d MiB of text when its aliases are written out", maxExpanded>>20)
	}
	return nil
}
