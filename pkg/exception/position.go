package exception

import (
	"fmt"
	"strconv"
	"strings"
)

// Position is a place in a source. Line and Column count from 1, Column in characters. Both are 0
// if the source is unknown.
type Position struct {
	File   string
	Line   int
	Column int
}

// String returns "file:line:column" without the unknown parts.
func (p Position) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	return b.String()
}

// Path leads to a value of a document: the keys (string) and indexes (int) from the root.
type Path []any

// With returns a copy of the path with one more step. Like other small functions with many callers, it is not
// inlined, because polex-validate has a limit on its size (test/size).
//
//go:noinline
func (p Path) With(step any) Path {
	longer := make(Path, len(p), len(p)+1)
	copy(longer, p)
	return append(longer, step)
}

// Set sets the value at a path of keys in an object, and creates missing mappings.
func (p Path) Set(object map[string]any, value any) {
	for _, step := range p[:len(p)-1] {
		key, _ := step.(string)
		below, _ := object[key].(map[string]any)
		if below == nil {
			below = map[string]any{}
		}
		object[key], object = below, below
	}
	key, _ := p[len(p)-1].(string)
	object[key] = value
}

// Remove removes the value at the path from an object, and its mapping if that becomes empty.
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

// String returns the path in kubectl's form: spec.match.any[0].kinds. A key that is not a plain
// word is in brackets, metadata.labels["app.kubernetes.io/name"], so it is not read as several
// steps.
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
	const plain = "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return s != "" && strings.Trim(s, plain) == ""
}
