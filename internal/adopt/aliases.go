package adopt

import (
	"bytes"
	"fmt"
	"math"

	"go.yaml.in/yaml/v3"
)

// maxExpanded is the maximum size in bytes of all keys and values with aliases written out, as for
// [exception.Reader.Aliases].
const maxExpanded = 8 << 20

// checkAliases checks the aliases of a YAML document before another reader writes them out. It
// returns an error if that gives more than 8 MiB of text, and if the aliases cannot be counted.
func checkAliases(raw []byte) error {
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
			return sizes[n.Alias] // 0 for an alias within its own value, which every reader rejects
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
