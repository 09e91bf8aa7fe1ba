package exception

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
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
	for i := len(additions) - 1; i >= 0; i-- {
		next, err := out.add(additions[i])
		if err != nil {
			return nil, fmt.Errorf("add %s: %w", additions[i].Path, err)
		}
		out = next
	}
	out.Index = d.Index
	return out, nil
}

func (d *Document) add(a Addition) (*Document, error) {
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
	if parent.entry(missing[0]) != nil {
		return nil, fmt.Errorf("it is there already")
	}
	if d.source == nil {
		return nil, fmt.Errorf("the document has no source to add to")
	}

	var source []byte
	var err error
	if parent.flow {
		source, err = d.insertFlow(parent, missing, a.Value)
	} else {
		source, err = d.insertBlock(parent, missing, a.Value)
	}
	if err != nil {
		return nil, err
	}
	return d.reread(source, a)
}

// reread proves that the text edit did what was meant and nothing else.
func (d *Document) reread(source []byte, a Addition) (*Document, error) {
	out, err := parse(source, d.at, d.json)
	if err != nil {
		return nil, err
	}
	want := d.Object()
	at := want
	for _, step := range a.Path[:len(a.Path)-1] {
		key := step.(string)
		if _, ok := at[key]; !ok {
			at[key] = map[string]any{}
		}
		at = at[key].(map[string]any)
	}
	at[a.Path[len(a.Path)-1].(string)] = a.Value
	if out == nil || !reflect.DeepEqual(out.Object(), want) {
		return nil, fmt.Errorf("the text around it is laid out in a way that cannot be added to: write the mapping over several lines")
	}
	return out, nil
}

func (d *Document) insertBlock(parent *node, keys []string, value string) ([]byte, error) {
	first := parent.entries[0]
	start := d.offset(first.line, 1)
	indent := string(d.source[start:d.offset(first.line, first.column)])
	if strings.Trim(indent, " ") != "" {
		return nil, fmt.Errorf("the mapping does not begin on a line of its own")
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
	return splice(d.source, start, text.String()), nil
}

// insertFlow puts the pair behind the opening brace, and repeats the white
// space that stands there, so that a document over several lines stays one.
func (d *Document) insertFlow(parent *node, keys []string, value string) ([]byte, error) {
	brace := d.offset(parent.line, parent.column)
	if brace >= len(d.source) || d.source[brace] != '{' {
		return nil, fmt.Errorf("the mapping's opening brace was not found")
	}
	after := d.source[brace+1:]
	space := string(after[:len(after)-len(bytes.TrimLeft(after, " \t\r\n"))])
	pair := quoted(value)
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
	return splice(d.source, brace+1, text), nil
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

var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+/=._-]{3,}$`)

// plainOrQuoted writes YAML that every reader takes for this very text.
func plainOrQuoted(text string) string {
	if value, problem := plainScalar(text); problem == "" && value == text && plainText.MatchString(text) {
		return text
	}
	return quoted(text)
}

// quoted writes a JSON string, which is a YAML string too.
func quoted(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
