package exception

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// parseJSON reads one JSON value, which must be the whole text.
func parseJSON(raw []byte, at Position, doubt *renderDoubt) (*node, error) {
	b := &jsonBuilder{raw: raw, at: at, doubt: doubt, dec: json.NewDecoder(bytes.NewReader(raw)), line: at.Line,
		column: at.Column}
	b.dec.UseNumber()
	return b.value(1)
}

// jsonBuilder reads the tokens of a value with the line and column of each. The standard library
// only has offsets.
type jsonBuilder struct {
	raw []byte
	at  Position
	dec *json.Decoder

	doubt *renderDoubt

	offset, line, column int // the position as far as it is counted
}

// next returns the next token and the position of its first character.
func (b *jsonBuilder) next() (json.Token, Position, error) {
	start := int(b.dec.InputOffset())
	for start < len(b.raw) && bytes.IndexByte([]byte(" \t\r\n,:"), b.raw[start]) >= 0 {
		start++
	}
	pos := b.advance(start)
	tok, err := b.dec.Token()
	if err != nil {
		return nil, pos, &SyntaxError{Position: pos, Message: "not valid JSON: " + err.Error()}
	}
	return tok, pos, nil
}

func (b *jsonBuilder) advance(to int) Position {
	for b.offset < to {
		r, size := utf8.DecodeRune(b.raw[b.offset:to])
		b.offset += size
		b.column++
		if r == '\n' {
			b.line, b.column = b.line+1, 1
		}
	}
	return Position{File: b.at.File, Line: b.line, Column: b.column}
}

func (b *jsonBuilder) value(depth int) (*node, error) {
	tok, pos, err := b.next()
	if err != nil {
		return nil, err
	}
	if depth > MaxDepth {
		return nil, &SyntaxError{Position: pos, Message: fmt.Sprintf("nested deeper than %d levels", MaxDepth)}
	}
	n := &node{line: pos.Line, column: pos.Column, flow: true}
	switch t := tok.(type) {
	case json.Delim:
		if t == '{' {
			n.kind = mappingNode
			return n, b.mapping(n, depth)
		}
		n.kind = sequenceNode
		return n, b.sequence(n, depth)
	case json.Number:
		value, problem := number(t.String())
		if problem != "" {
			return nil, &SyntaxError{Position: pos, Message: fmt.Sprintf("%q %s", t.String(), problem)}
		}
		n.scalar = value
	default: // string, bool or nil
		n.scalar = t
	}
	b.doubt.json(n.scalar)
	return n, nil
}

func (b *jsonBuilder) mapping(n *node, depth int) error {
	seen := map[string]int{}
	for b.dec.More() {
		tok, pos, err := b.next()
		if err != nil {
			return err
		}
		key, ok := tok.(string)
		if !ok {
			return &SyntaxError{Position: pos, Message: "a key must be text"}
		}
		if first, dup := seen[key]; dup {
			return &SyntaxError{Position: pos,
				Message: fmt.Sprintf("the key %q is already set on line %d", key, first),
				Hint:    "keep one of the two: readers of JSON disagree about which one counts"}
		}
		seen[key] = pos.Line
		b.doubt.json(key)
		b.doubt.some = b.doubt.some || len(key) > longKey || key == "<<"
		v, err := b.value(depth + 1)
		if err != nil {
			return err
		}
		n.entries = append(n.entries, entry{key: key, line: pos.Line, column: pos.Column, value: v})
	}
	_, _, err := b.next() // the closing brace
	return err
}

func (b *jsonBuilder) sequence(n *node, depth int) error {
	n.items = []*node{}
	for b.dec.More() {
		item, err := b.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, _, err := b.next() // the closing bracket
	return err
}
