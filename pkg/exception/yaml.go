package exception

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseYAML reads the single document of a chunk. It returns nil without an error if the chunk has
// only blank lines and comments.
func parseYAML(chunk []byte, at Position, as layout, doubt *renderDoubt) (*node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(chunk))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, yamlError(err, at, chunk)
	}
	b := &yamlBuilder{at: at, source: runeCursor{source: chunk, line: 1, column: 1}, doubt: doubt}
	doubt.commented(&doc, false)
	if as.aliases {
		b.anchors, b.left, b.leftText = map[*yaml.Node]*anchored{}, as.nodes, maxExpanded
	}
	if len(doc.Content) != 1 {
		return nil, b.errorf(&doc, "this is not a document")
	}
	var root *node
	only := doc.Content[0]
	empty := only.Kind == yaml.ScalarNode && only.Value == "" && only.Style == 0 && only.Anchor == "" &&
		!b.bareTag(only)
	if !empty { // a marker alone is not a document
		var err error
		if root, err = b.build(only, 1); err != nil {
			return nil, err
		}
	}
	// The splitting into chunks could miss a second document behind a line break that only YAML 1.1
	// knows. So the parser looks for one.
	var second yaml.Node
	if err := dec.Decode(&second); err == nil {
		return nil, b.errorf(&second, "a second document begins here")
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlError(err, at, chunk)
	}
	return root, nil
}

type yamlBuilder struct {
	at     Position
	source runeCursor
	doubt  *renderDoubt

	anchors  map[*yaml.Node]*anchored // nil if anchors are not allowed
	left     int                      // remaining nodes, with aliases written out
	leftText int                      // remaining bytes of keys and values, likewise
	deepest  int                      // the deepest level so far
}

func (b *yamlBuilder) build(n *yaml.Node, depth int) (*node, error) {
	if depth > MaxDepth {
		return nil, b.errorf(n, "nested deeper than %d levels", MaxDepth)
	}
	switch {
	case n.Kind == yaml.AliasNode && b.anchors != nil:
		return b.alias(n, depth)
	case n.Kind == yaml.AliasNode:
		return nil, b.hinted(n, "write the value out where it is used",
			"the alias *%s is not allowed: write the value here", n.Value)
	case n.Anchor != "" && b.anchors == nil:
		return nil, b.hinted(n, "remove the anchor and write the value out where it is used",
			"the anchor &%s is not allowed", n.Anchor)
	case n.Style&yaml.TaggedStyle != 0:
		return nil, b.hinted(n, "remove the tag", "the tag %q is not allowed", n.Tag)
	case b.bareTag(n):
		return nil, b.hinted(n, "remove the tag", "the tag %q is not allowed", "!")
	}
	out := &node{line: b.at.Line + n.Line - 1, column: n.Column, flow: n.Style&yaml.FlowStyle != 0}
	if n.Anchor != "" {
		left, text, deepest := b.left, b.leftText, b.deepest
		b.deepest = depth
		defer func() {
			b.anchors[n] = &anchored{node: out, nodes: left - b.left + 1, text: text - b.leftText,
				levels: b.deepest - depth}
			b.deepest = max(b.deepest, deepest)
		}()
	}
	b.left, b.deepest = b.left-1, max(b.deepest, depth)
	b.doubt.commented(n, out.flow)
	switch n.Kind {
	case yaml.MappingNode:
		out.kind = mappingNode
		return out, b.mapping(out, n, depth)
	case yaml.SequenceNode:
		out.kind = sequenceNode
		out.items = make([]*node, len(n.Content))
		for i, c := range n.Content {
			item, err := b.build(c, depth+1)
			if err != nil {
				return nil, err
			}
			out.items[i] = item
			b.inFlow(out, c, item)
		}
		return out, nil
	case yaml.ScalarNode:
		value, err := b.scalar(n)
		out.scalar = value
		b.doubt.yaml(n, value, false)
		return out, err
	default:
		return nil, b.errorf(n, "this is not a mapping, a list or a value")
	}
}

func (b *yamlBuilder) mapping(out *node, n *yaml.Node, depth int) error {
	seen := make(map[string]int, len(n.Content)/2)
	out.entries = make([]entry, 0, len(n.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode {
			return mistake(b.hinted(k, "", "a key must be text"), textOfLine(b.source.source, k.Line))
		}
		if k.Anchor != "" || k.Style&yaml.TaggedStyle != 0 || b.bareTag(k) {
			return b.errorf(k, "a key may not carry an anchor or a tag")
		}
		if b.anchors != nil && k.Value == "<<" && k.Style == 0 {
			merges = append(merges, n.Content[i+1])
			continue
		}
		value, err := b.scalar(k)
		if err != nil {
			return err
		}
		key, ok := value.(string)
		if !ok {
			return b.hinted(k, "put it in quotes", "the key %q is not text", k.Value)
		}
		if first, dup := seen[key]; dup {
			return b.hinted(k, "keep one of the two: readers of YAML disagree about which one counts",
				"the key %q is already set on line %d", key, first)
		}
		v, err := b.build(n.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		b.doubt.yaml(k, key, true)
		b.doubt.commented(k, out.flow)
		b.inFlow(out, n.Content[i+1], v)
		line := b.at.Line + k.Line - 1
		seen[key] = line
		out.entries = append(out.entries, entry{key: key, line: line, column: k.Column, value: v})
	}
	for _, merge := range merges {
		if err := b.merge(out, seen, merge, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// inFlow notes the doubts about a value within brackets: a comment, and a null, which can have no text.
func (b *yamlBuilder) inFlow(out *node, n *yaml.Node, value *node) {
	if out.flow {
		b.doubt.commented(n, true)
		b.doubt.some = b.doubt.some || value.kind == scalarNode && value.scalar == nil
	}
}

// bareTag reports whether a node has the tag "!", which makes a number a text. The library does not
// keep this tag, so bareTag looks at the source. Only a quoted text may begin with an exclamation
// mark without a tag.
func (b *yamlBuilder) bareTag(n *yaml.Node) bool { return b.source.at(n.Line, n.Column) == '!' }

func (b *yamlBuilder) scalar(n *yaml.Node) (any, error) {
	b.leftText -= len(n.Value)
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if n.Style&quoted != 0 {
		return n.Value, nil
	}
	value, problem := plainScalar(n.Value)
	if problem != "" {
		return nil, b.hinted(n, quoteHint(n.Value), "%q %s", n.Value, problem)
	}
	return value, nil
}

func (b *yamlBuilder) errorf(n *yaml.Node, format string, args ...any) *SyntaxError {
	return b.hinted(n, "", format, args...)
}

func (b *yamlBuilder) hinted(n *yaml.Node, hint, format string, args ...any) *SyntaxError {
	pos := Position{File: b.at.File, Line: b.at.Line + n.Line - 1, Column: n.Column}
	if n.Line == 0 {
		pos.Line, pos.Column = b.at.Line, 1
	}
	return &SyntaxError{Position: pos, Message: fmt.Sprintf(format, args...), Hint: hint}
}

var parserError = regexp.MustCompile(`^did not find expected (key|[',<-])`)

var yamlErrorLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// yamlError converts the library's error into one with our position.
func yamlError(err error, at Position, chunk []byte) error {
	text := err.Error()
	pos := Position{File: at.File, Line: at.Line, Column: 1}
	if m := yamlErrorLine.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		if line, convErr := strconv.Atoi(m[1]); convErr == nil {
			pos.Line = at.Line + line - 1
		}
		if m[1] != "" && parserError.MatchString(text) {
			pos.Line++ // the library counts the lines of these errors from 0
		}
	}
	if _, name, ok := strings.Cut(text, "unknown anchor '"); ok {
		before, _, _ := bytes.Cut(chunk, []byte("*"+strings.TrimSuffix(name, "' referenced")))
		pos.Line += bytes.Count(before, []byte("\n"))
	}
	return mistake(&SyntaxError{Position: pos, Message: "not valid YAML: " + text},
		textOfLine(chunk, pos.Line-at.Line+1))
}

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
