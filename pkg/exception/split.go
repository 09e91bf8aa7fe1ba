package exception

import (
	"bytes"
	"reflect"

	"sigs.k8s.io/yaml"
)

// Items returns the items of a list ([Document.IsList]) as separate documents, with their
// positions. In a list in block style, each keeps its comments and those right above it. It returns
// a *[SyntaxError] if an item is not an object.
func (d *Document) Items() ([]*Document, error) {
	list := d.root.entry("items")
	if list == nil || list.value.kind != sequenceNode || len(list.value.items) == 0 {
		return nil, &SyntaxError{Position: d.Position(), Message: "items is not a list of objects"}
	}
	docs := make([]*Document, len(list.value.items))
	for i, item := range list.value.items {
		at := Position{File: d.File(), Line: item.line, Column: item.column}
		if item.kind != mappingNode {
			return nil, &SyntaxError{Position: at, Message: "this item is not an object"}
		}
		object := item.object()
		text := d.itemText(item)
		doc, err := parse(text, at, layout{nodes: maxLargeNodes})
		if err != nil || doc == nil || bytes.HasPrefix(text, []byte("{")) || !reflect.DeepEqual(doc.Object(), object) {
			// It is not in block style, or would be JSON in a file of its own.
			if text, err = yaml.Marshal(object); err != nil {
				return nil, &SyntaxError{Position: at, Message: "the item cannot be written: " + err.Error()}
			}
			if doc, err = parse(text, at, layout{nodes: maxLargeNodes}); err != nil {
				return nil, err
			}
			if doc == nil || !reflect.DeepEqual(doc.Object(), object) {
				return nil, &SyntaxError{Position: at, Message: "the item cannot be written as a document of its own"}
			}
		}
		docs[i] = doc
	}
	return docs, nil
}

// itemText returns the lines of an item and of the comments above it, moved to the left. The caller
// must compare their value with the item.
func (d *Document) itemText(item *node) []byte {
	lines := bytes.SplitAfter(d.source, []byte("\n"))
	first, indent := item.line-d.at.Line, item.column-1
	if d.json || first >= len(lines) || len(lines[first]) < indent {
		return nil
	}
	comment := func(line []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) }
	spaces := func(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }
	from, to := first, first+1
	for from > 0 && comment(lines[from-1]) && spaces(lines[from-1]) < indent {
		from--
	}
	for to < len(lines) && (len(bytes.TrimSpace(lines[to])) == 0 || spaces(lines[to]) >= indent) {
		to++
	}
	var text []byte
	for i := from; i < to; i++ {
		cut := min(indent, spaces(lines[i]))
		if i == first {
			cut = indent // with the dash
		}
		text = append(text, lines[i][cut:]...)
	}
	return text
}
