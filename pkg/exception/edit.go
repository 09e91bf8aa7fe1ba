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

// Addition is a text value to put under a key that the document does not have
// yet. Path leads to the new key; the mapping that will hold it exists, or is
// itself missing from a mapping that exists.
type Addition struct {
	Path  Path
	Value string
}

// Add returns the document with values added, every other byte of its source
// kept as it was: comments, key order and quoting survive, and a diff shows
// nothing but the new lines. Each value stands before what its mapping holds
// already, in the order given. Adding a key that exists is an error.
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

// together is how many of the last additions can be made as one: those to a
// mapping that holds something already. Reading the text again is what takes
// time, and a seal has several parts.
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

// add makes one addition, or several to one mapping that holds something.
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
		return nil, fmt.Errorf("%s is empty or no mapping: remove it, or fill it", a.Path[:len(a.Path)-1])
	}
	there := map[string]bool{}
	for _, other := range group {
		// Of several, each lacks one key only.
		key, _ := other.Path[len(a.Path)-len(missing)].(string)
		if there[key] || parent.entry(key) != nil {
			return nil, fmt.Errorf("%s is there already", other.Path)
		}
		there[key] = true
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
	return d.reread(splice(d.source, at, text), group)
}

// reread proves that the text edit did what was meant and nothing else.
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
		return nil, fmt.Errorf("the text around it is laid out in a way that cannot be added to: write the mapping over several lines")
	}
	return out, nil
}

// insertBlock returns the lines to put in, and where.
func (d *Document) insertBlock(parent *node, keys []string, value string) (at int, lines string, err error) {
	first := parent.entries[0]
	start := d.offset(first.line, 1)
	indent := string(d.source[start:d.offset(first.line, first.column)])
	if strings.Trim(indent, " ") != "" {
		return 0, "", fmt.Errorf("the mapping does not begin on a line of its own")
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

// insertFlow puts the pair behind the opening brace, and repeats the white
// space that stands there, so that a document over several lines stays one. It
// returns what to put in, and where.
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

// offset turns a position into an index of the source.
func (d *Document) offset(line, column int) int {
	start := 0
	for l := d.at.Line; l < line; l++ {
		next := bytes.IndexByte(d.source[start:], '\n')
		if next < 0 {
			return len(d.source)
		}
		start += next + 1
	}
	if line == d.at.Line {
		column -= d.at.Column - 1
	}
	for c := 1; c < column && start < len(d.source); c++ {
		_, size := utf8.DecodeRune(d.source[start:])
		start += size
	}
	return start
}

func splice(source []byte, at int, text string) []byte {
	out := make([]byte, 0, len(source)+len(text))
	out = append(out, source[:at]...)
	out = append(out, text...)
	return append(out, source[at:]...)
}

// plainOrQuoted writes YAML that every reader takes for this very text.
func plainOrQuoted(text string) string {
	if value, problem := plainScalar(text); problem == "" && value == text && plainText(text) {
		return text
	}
	return quoted(text)
}

// plainText says whether a text is a word of four letters or more, base64 or the
// like. Seals are long: this is no place for a regular expression.
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

// quoted writes a JSON string, which is a YAML string too.
func quoted(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
