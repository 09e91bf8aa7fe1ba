package exception

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Document is one object as it was written, with the position of every value. It does not change.
type Document struct {
	Index int // in its stream, from 0

	source []byte
	at     Position // of the first byte of source
	json   bool
	root   *node

	rendered bool // kustomize was asked
}

// Parse reads exactly one document. It returns a *[SyntaxError] if there is no document, a second
// one, or one that [Reader.Next] rejects.
func Parse(source []byte, file string) (*Document, error) {
	return NewReader(bytes.NewReader(source), file).one(source, file)
}

// ParseUndeployed reads one document like [Parse], from where kustomize never reads it: a signed message beside its
// object, a configuration, or an object that the API server sends.
func ParseUndeployed(source []byte, file string) (*Document, error) {
	r := NewReader(bytes.NewReader(source), file)
	r.undeployed = true
	return r.one(source, file)
}

func (r *Reader) one(source []byte, file string) (*Document, error) {
	r.room = min(len(source), MaxDocument)
	doc, err := r.Next()
	if errors.Is(err, io.EOF) {
		return nil, &SyntaxError{Position: Position{File: file, Line: 1, Column: 1},
			Message: "there is no document here"}
	}
	if err != nil {
		return nil, err
	}
	switch second, err := r.Next(); {
	case errors.Is(err, io.EOF):
		return doc, nil
	case err != nil:
		return nil, err
	default:
		return nil, &SyntaxError{Position: second.Position(),
			Message: "a second document begins here, and only one is expected"}
	}
}

// layout has the properties of a chunk that are known before it is parsed.
type layout struct {
	json  bool
	lead  int // length of the marker line that apimachinery's splitter removes
	nodes int // the maximum number of nodes

	aliases bool // anchors, aliases and merge keys are allowed

	undeployed     bool   // kustomize never reads it
	before, behind []byte // white space around JSON
}

// parse returns nil without an error if the chunk has no document.
func parse(chunk []byte, at Position, as layout) (*Document, error) {
	if err := checkText(chunk, at); err != nil {
		return nil, err
	}
	if err := checkNodes(chunk, at, as.nodes); err != nil {
		return nil, err
	}
	var root *node
	var err error
	var doubt renderDoubt
	text := chunk
	if as.json {
		doubt.layout(slices.Concat(as.before, chunk, as.behind))
		root, err = parseJSON(chunk, at, &doubt)
	} else if err = checkMarkers(chunk, at); err == nil {
		// kubectl reads a line break at the end of every file. Without it, a block scalar at the
		// end of the file would have another value.
		if !bytes.HasSuffix(chunk, []byte("\n")) {
			text = append(bytes.Clone(chunk), '\n')
			doubt.some = true
		}
		root, err = parseYAML(text, at, as, &doubt)
	}
	if err != nil {
		return nil, err
	}
	if root != nil && root.kind != mappingNode {
		return nil, &SyntaxError{Position: Position{at.File, root.line, root.column},
			Message: "a document must consist of keys with values (apiVersion, kind, …)"}
	}
	rendered := doubt.is() && !as.undeployed && root != nil
	if rendered {
		if err := checkRendered(chunk, at); err != nil {
			return nil, err
		}
	}
	if err := agree(root, text[min(as.lead, len(text)):], at, as); err != nil || root == nil {
		return nil, err
	}
	doc := &Document{source: chunk, at: at, json: as.json, root: root, rendered: rendered}
	if doc.rendered {
		if err := agreeRendered(root, slices.Concat(as.before, chunk[min(as.lead, len(chunk)):], as.behind),
			at); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

// FromObject makes a document of an object in memory, such as an unstructured.Unstructured's
// Object. It has neither source nor positions. The object is copied. A value of a type that JSON
// does not have, an integer beyond 64 bits or more than [MaxDepth] levels is an error.
func FromObject(object map[string]any) (*Document, error) {
	root, err := fromValue(object, 1)
	if err != nil {
		return nil, fmt.Errorf("object: %w", err)
	}
	return &Document{root: root}, nil
}

// Object returns the document's tree. Each call returns a new copy.
//
//go:noinline
func (d *Document) Object() map[string]any { return d.root.object().(map[string]any) }

// Source returns the document's own bytes, without the rest of its stream.
func (d *Document) Source() []byte { return bytes.Clone(d.source) }

// SourcePosition returns the position of the first byte of [Document.Source].
func (d *Document) SourcePosition() Position { return d.at }

// JSON reports whether the document was written as JSON.
func (d *Document) JSON() bool { return d.json }

// File returns the name of the document's source.
func (d *Document) File() string { return d.at.File }

// Position returns the position of the document's first key. Messages about the whole document use
// it.
func (d *Document) Position() Position {
	return Position{File: d.at.File, Line: d.root.line, Column: d.root.column}
}

// PositionOf returns the position of the value at path, or of its key if it has one. If there is no
// such value, it returns the position of the last existing step.
func (d *Document) PositionOf(path Path) Position {
	at, key, _ := d.root.find(path)
	if key != nil {
		return Position{File: d.at.File, Line: key.line, Column: key.column}
	}
	return Position{File: d.at.File, Line: at.line, Column: at.column}
}

// Lookup returns the value at path, or false if there is none.
func (d *Document) Lookup(path ...any) (any, bool) {
	at, _, whole := d.root.find(path)
	if !whole {
		return nil, false
	}
	return at.object(), true
}

// Text returns the string at path, or "" if there is none or it is not a string.
func (d *Document) Text(path ...any) string {
	at, _, whole := d.root.find(path)
	if !whole || at.kind != scalarNode {
		return ""
	}
	s, _ := at.scalar.(string)
	return s
}
