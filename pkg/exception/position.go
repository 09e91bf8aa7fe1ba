package exception

import (
	"fmt"
	"strconv"
	"strings"
)

// Position is a place in a source. Line and Column count from 1, Column in
// characters; they are 0 where the source is unknown.
type Position struct {
	File   string
	Line   int
	Column int
}

// String returns "file:line:column", leaving out what is not known.
func (p Position) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	return b.String()
}

// Path names a value inside a document: the keys (string) and indexes (int)
// that lead to it from the root.
type Path []any

// With returns the path one step longer. The receiver is not changed.
func (p Path) With(step any) Path {
	longer := make(Path, len(p), len(p)+1)
	copy(longer, p)
	return append(longer, step)
}

// Remove takes what is at the path out of an object, with a mapping that is then empty.
func (p Path) Remove(object map[string]any) {
	var parent map[string]any
	var name string
	for i, step := range p {
		key, _ := step.(string)
		if i == len(p)-1 {
			if delete(object, key); len(object) == 0 {
				delete(parent, name)
			}
			return
		}
		below, _ := object[key].(map[string]any)
		if below == nil {
			return
		}
		parent, name, object = object, key, below
	}
}

// String writes the path as kubectl users know it: spec.match.any[0].kinds,
// and metadata.labels["app.kubernetes.io/name"] where a key is not a plain
// word, so that a dotted key is never mistaken for a path.
func (p Path) String() string {
	var b strings.Builder
	for _, step := range p {
		switch s := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", s)
		case string:
			if !plainKey(s) {
				b.WriteString("[" + strconv.QuoteToASCII(s) + "]")
				continue
			}
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s)
		}
	}
	if b.Len() == 0 {
		return "."
	}
	return b.String()
}

func plainKey(s string) bool {
	if s == "" {
		return false
	}
	for _, r := range s {
		if r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return true
}
