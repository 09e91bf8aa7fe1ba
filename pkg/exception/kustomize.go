package exception

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// agreeRendered rejects a chunk from which kustomize makes another object than kubectl reads. kubectl apply -k, Flux
// and Argo CD render files with kustomize before they apply them.
func agreeRendered(root *node, chunk []byte, at Position) error {
	theirs, err := rendered(chunk)
	if err != nil {
		at.Line += max(lineOf(err)-1, 0)
		return &SyntaxError{Position: Position{at.File, at.Line, 1},
			Message: fmt.Sprintf("kustomize cannot read this document: %v", err),
			Hint:    "kubectl apply -k, Flux and Argo CD read files with kustomize; write it as plain YAML"}
	}
	d := difference(root, theirs)
	if d == nil {
		return nil
	}
	if whole := append(bytes.Clone(chunk), '\n'); chunk[len(chunk)-1] != '\n' {
		if theirs, err := rendered(whole); err == nil && difference(root, theirs) == nil {
			d.hint = "end the file with a line break"
		}
	}
	return &SyntaxError{Position: Position{at.File, max(d.at.line, at.Line), max(d.at.column, 1)},
		Message: "kustomize (kubectl apply -k, Flux, Argo CD) reads this " + d.what,
		Hint:    d.hint + "; this keeps the value as kubectl reads it, so a signature stays valid"}
}

// checkRendered rejects a document that is too large to ask kustomize about it.
func checkRendered(chunk []byte, at Position) error {
	if len(chunk)+renderedNode*nodesIn(chunk)+renderedWord*wordsIn(chunk) <= maxRendered {
		return nil
	}
	return &SyntaxError{Position: Position{at.File, at.Line, 1},
		Message: fmt.Sprintf("a document of more than %d KiB that kustomize may read otherwise than kubectl; a value "+
			"or line counts as %d bytes, and a word as %d",
			maxRendered>>10, renderedNode, renderedWord),
		Hint: "make it smaller, or write plain ASCII, numbers without exponents, and no folded texts"}
}

// rendered returns the value that kubectl reads in the output of kustomize for a chunk. These are the steps of
// kustomize 5.8: kio.ByteReader, RNode.MarshalJSON and Resource.AsYAML, with the libraries that it calls.
func rendered(chunk []byte) (any, error) {
	var doc yamlv3.Node
	if err := yamlv3.Unmarshal(bytes.ReplaceAll(chunk, []byte("\r\n"), []byte("\n")), &doc); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	enc := yamlv3.NewEncoder(&text)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := enc.Encode(&doc); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	var object map[string]any
	if err := yamlv3.Unmarshal(text.Bytes(), &object); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	out, err := yaml.JSONToYAML(raw)
	if err != nil {
		return nil, err
	}
	return consumed(out, layout{})
}

// renderDoubt collects what could make kustomize read a document otherwise than kubectl. Without a doubt, kustomize
// need not be asked, which takes as long as all other reading. polex's own reader of YAML is the library that
// kustomize decodes with, so the doubts are about writing the values again and reading them back.
type renderDoubt struct {
	some     bool // a value or a layout is in doubt
	comments bool
	blocks   bool // block texts; a comment that moves could become part of one
}

func (d *renderDoubt) is() bool { return d.some || d.comments && d.blocks }

// longKey is the maximum length of a key that every library writes on one line, in bytes.
const longKey = 120

// yaml notes the doubts about a scalar of YAML with its value.
func (d *renderDoubt) yaml(n *yamlv3.Node, value any, key bool) {
	tag := ""
	switch value.(type) {
	case nil:
		tag = "!!null"
	case bool:
		tag = "!!bool"
	case int64:
		tag = "!!int"
	case string:
		tag = "!!str"
	}
	d.some = d.some || n.Tag != tag || !simpleText(n.Value)
	switch {
	case n.Style&yamlv3.LiteralStyle != 0:
		d.blocks = true
		d.some = d.some || key || n.Value == ""
	case n.Style&yamlv3.DoubleQuotedStyle == 0: // plain, single quotes, folded
		d.some = d.some || n.Style&yamlv3.FoldedStyle != 0 || strings.Contains(n.Value, "\n")
	}
	d.some = d.some || key && (len(n.Value) > longKey || n.Value == "<<" || strings.Contains(n.Value, "\n"))
}

// commented notes the comments of a node. Within brackets, a comment could end up behind a value.
func (d *renderDoubt) commented(n *yamlv3.Node, flow bool) {
	if n.HeadComment != "" || n.LineComment != "" || n.FootComment != "" {
		d.comments = true
		d.some = d.some || flow
	}
}

// simpleText reports whether all libraries write a text and read it back alike: printable ASCII, and in several lines
// neither white space at the start, at the end of a line, nor empty lines at the end.
func simpleText(text string) bool {
	lines := false
	for i := range len(text) {
		if c := text[i]; c == '\n' {
			lines = true
		} else if c < ' ' || c > '~' {
			return false
		}
	}
	return !lines || text[0] != ' ' && text[0] != '\n' && !strings.Contains(text, " \n") &&
		!strings.HasSuffix(text, "\n\n") && !strings.HasSuffix(text, " ")
}

// json notes the doubts about a scalar of JSON.
func (d *renderDoubt) json(value any) {
	switch v := value.(type) {
	case bool, int64:
	case string:
		d.some = d.some || !simpleText(v)
	default:
		d.some = true
	}
}

// layout notes the doubts about the form of JSON. A reader of YAML knows fewer escapes, rejects some tabs, and wants
// a key and its colon on one line.
func (d *renderDoubt) layout(chunk []byte) {
	for i := 0; i < len(chunk) && !d.some; i++ {
		switch chunk[i] {
		case '\t':
			d.some = true
		case '\\':
			i++
			d.some = i == len(chunk) || bytes.IndexByte([]byte(`"\n`), chunk[i]) < 0
		case ':':
			d.some = i > 0 && bytes.IndexByte([]byte(" \r\n"), chunk[i-1]) >= 0
		}
	}
}
