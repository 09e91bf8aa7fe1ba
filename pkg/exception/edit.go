package exception

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Addition is a new text value. Path leads to its key, which does not exist yet. The mapping around
// it exists, or can be added to an existing mapping.
type Addition struct {
	Path  Path
	Value string
}

// Add returns the document with values added. All other bytes of the source stay, so comments, key
// order and quoting survive, and a diff shows the new lines only. New values come before the
// existing ones of their mapping, in the given order. Adding an existing key is an error.
func (d *Document) Add(additions ...Addition) (*Document, error) {
	out := d
	for len(additions) > 0 {
		first := len(additions) - out.together(additions)
		next, err := out.add(additions[first:])
		if err != nil {
			return nil, fmt.Errorf("add %s: %w", additions[first].Path, err)
		}
		out, additions = next, additions[:first]
	}
	out.Index = d.Index
	return out, nil
}

// together returns the number of last additions that can be made in one step: those to the same
// non-empty mapping. Parsing the text again costs most, and a signature has several annotations.
func (d *Document) together(additions []Addition) int {
	last := additions[len(additions)-1].Path
	mapping := last[:len(last)-1]
	parent, _, whole := d.root.find(mapping)
	if !whole || parent.kind != mappingNode || len(parent.entries) == 0 {
		return 1
	}
	n := 0
	for n < len(additions) {
		path := additions[len(additions)-1-n].Path
		if len(path) != len(last) || !slices.Equal(path[:len(path)-1], mapping) {
			break
		}
		if _, ok := path[len(path)-1].(string); !ok {
			break
		}
		n++
	}
	return max(n, 1)
}

// add makes one addition, or several to the same non-empty mapping.
func (d *Document) add(group []Addition) (*Document, error) {
	a := group[0]
	var parent *node
	var missing []string
	for n := len(a.Path) - 1; n >= 0 && parent == nil; n-- {
		key, ok := a.Path[n].(string)
		if !ok {
			return nil, fmt.Errorf("step %v is not a key", a.Path[n])
		}
		missing = append([]string{key}, missing...)
		if at, _, whole := d.root.find(a.Path[:n]); whole {
			parent = at
		}
	}
	if parent == nil || parent.kind != mappingNode {
		return nil, fmt.Errorf("%s is empty or not a mapping: remove it, or fill it", a.Path[:len(a.Path)-1])
	}
	added := map[string]bool{}
	for _, other := range group {
		// If there are several, each lacks one key only.
		key, _ := other.Path[len(a.Path)-len(missing)].(string)
		if added[key] || parent.entry(key) != nil {
			return nil, fmt.Errorf("%s exists already", other.Path)
		}
		added[key] = true
	}
	if d.source == nil {
		return nil, fmt.Errorf("the document has no source to add to")
	}

	insert := d.insertBlock
	if parent.flow {
		insert = d.insertFlow
	}
	at, text := 0, ""
	for _, each := range group {
		keys := missing
		if len(group) > 1 {
			keys = []string{each.Path[len(each.Path)-1].(string)}
		}
		place, more, err := insert(parent, keys, each.Value)
		if err != nil {
			return nil, err
		}
		at, text = place, text+more
	}
	return d.reread(slices.Concat(d.source[:at], []byte(text), d.source[at:]), group)
}

// reread checks that the edit of the text added these values and changed nothing else.
func (d *Document) reread(source []byte, group []Addition) (*Document, error) {
	out, err := parse(source, d.at, layout{json: d.json, nodes: MaxNodes})
	if err != nil {
		return nil, err
	}
	want := d.Object()
	for _, a := range group {
		at := want
		for _, step := range a.Path[:len(a.Path)-1] {
			key := step.(string)
			if _, ok := at[key]; !ok {
				at[key] = map[string]any{}
			}
			at = at[key].(map[string]any)
		}
		at[a.Path[len(a.Path)-1].(string)] = a.Value
	}
	if out == nil || !reflect.DeepEqual(out.Object(), want) {
		return nil, fmt.Errorf("polex cannot add to the layout of this document: write the mapping over several lines")
	}
	return out, nil
}

// insertBlock returns the lines to insert and their offset.
func (d *Document) insertBlock(parent *node, keys []string, value string) (at int, lines string, err error) {
	first := parent.entries[0]
	start := d.offset(first.line, 1)
	indent := string(d.source[start:d.offset(first.line, first.column)])
	if strings.Trim(indent, " ") != "" {
		return 0, "", fmt.Errorf("the mapping does not begin on its own line")
	}
	eol := "\n"
	if end := bytes.IndexByte(d.source[start:], '\n'); end > 0 && d.source[start+end-1] == '\r' {
		eol = "\r\n"
	}
	var text strings.Builder
	for i, key := range keys {
		text.WriteString(indent + strings.Repeat("  ", i) + plainOrQuoted(key) + ":")
		if i == len(keys)-1 {
			text.WriteString(" " + plainOrQuoted(value))
		}
		text.WriteString(eol)
	}
	return start, text.String(), nil
}

// insertFlow returns the pair to insert behind the opening brace, and its offset. It repeats the
// white space behind the brace, so a document over several lines keeps that form.
func (d *Document) insertFlow(parent *node, keys []string, value string) (at int, pair string, err error) {
	brace := d.offset(parent.line, parent.column)
	if brace >= len(d.source) || d.source[brace] != '{' {
		return 0, "", fmt.Errorf("the mapping's opening brace was not found")
	}
	after := d.source[brace+1:]
	space := string(after[:len(after)-len(bytes.TrimLeft(after, " \t\r\n"))])
	pair = quoted(value)
	for i := len(keys) - 1; i >= 0; i-- {
		pair = quoted(keys[i]) + ": " + pair
		if i > 0 {
			pair = "{" + pair + "}"
		}
	}
	text := pair
	if len(parent.entries) > 0 {
		if space == "" {
			text += ", "
		} else {
			text = space + pair + ","
		}
	}
	return brace + 1, text, nil
}

// offset converts a position into an index of the source.
func (d *Document) offset(line, column int) int {
	c := runeCursor{source: d.source, line: d.at.Line, column: d.at.Column}
	return c.find(line, column)
}

// plainOrQuoted writes YAML that every reader reads as this text.
func plainOrQuoted(text string) string {
	if value, problem := plainScalar(text); problem == "" && value == text && plainText(text) {
		return text
	}
	return quoted(text)
}

// plainText reports whether a text is a word of at least four characters, base64 or the like.
// Signature annotations are long, and a regular expression would be slow.
func plainText(text string) bool {
	if len(text) < 4 || !letter(text[0]) {
		return false
	}
	for i := range len(text) {
		if c := text[i]; !letter(c) && (c < '0' || c > '9') && !strings.ContainsRune("+/=._-", rune(c)) {
			return false
		}
	}
	return true
}

func letter(c byte) bool { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') }

// quoted writes a JSON string, which is also a YAML string.
func quoted(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// runeCursor finds the character at a line and column, counted from 1. Calls in the order of the
// source take linear time together.
type runeCursor struct {
	source       []byte
	offset       int
	line, column int // of offset
}

// at returns the first byte of a character, or 0 if there is none.
func (c *runeCursor) at(line, column int) byte {
	if line < c.line || line == c.line && column < c.column {
		c.offset, c.line, c.column = 0, 1, 1
	}
	if at := c.find(line, column); at < len(c.source) {
		return c.source[at]
	}
	return 0
}

// find returns the offset of a character that is not before the last one. Without such a line, it is the length of
// the source.
func (c *runeCursor) find(line, column int) int {
	for c.line < line {
		next := bytes.IndexByte(c.source[c.offset:], '\n')
		if next < 0 {
			return len(c.source)
		}
		c.offset, c.line, c.column = c.offset+next+1, c.line+1, 1
	}
	for c.column < column && c.offset < len(c.source) {
		_, size := utf8.DecodeRune(c.source[c.offset:])
		c.offset, c.column = c.offset+size, c.column+1
	}
	return c.offset
}
