package exception

import (
	"fmt"
	"math"
	"sort"
	"strings"
)

// Reasons of a [Problem].
const (
	ProblemUnknownVersion  = "unknown-version"
	ProblemUnknownField    = "unknown-field"
	ProblemUnsignableField = "unsignable-field"
	ProblemMissingField    = "missing-field"
	ProblemWrongType       = "wrong-type"
	ProblemInvalidValue    = "invalid-value"
	ProblemNullValue       = "null-value"
	ProblemEmptyValue      = "empty-value"
)

// MaxProblems is the maximum number of results of [CheckSchema] for one document. So a hostile
// document does not produce a report larger than itself.
const MaxProblems = 100

// Problem is one place where the API server or Kyverno's webhook would reject a document, or store
// another value than the written one.
type Problem struct {
	Path    Path
	Reason  string
	Message string // untrusted text quoted
	Hint    string // a possible correction; may be empty
}

// CheckSchema returns the problems of a PolicyException with the definitions of Kyverno 1.19.1: the
// places that the API server would reject, drop or change. They are in document order, at most
// [MaxProblems]. A silently dropped value is the worst one: the live object would differ from the
// signed one. A document of another kind has no problems.
func CheckSchema(d *Document) []Problem {
	gk := d.GroupKind()
	if !gk.IsException() {
		return nil
	}
	s, known := schemaOf(gk.Group, d.Version())
	c := schemaChecker{}
	if !known {
		c.report(placeOf(d.root.entry("apiVersion")), Path{"apiVersion"}, ProblemUnknownVersion,
			fmt.Sprintf("%s has no version %q of PolicyException", gk.Group, shortened(d.Version())),
			"write "+gk.Group+"/"+newestVersion(gk.Group))
	}
	c.check(d.root, place{d.root.line, d.root.column}, s, nil)
	sort.SliceStable(c.found, func(i, j int) bool {
		a, b := c.found[i].place, c.found[j].place
		if a.line != b.line {
			return a.line < b.line
		}
		return a.column < b.column
	})
	var problems []Problem
	for i := range c.found {
		problems = append(problems, c.found[i].Problem)
	}
	return problems
}

func newestVersion(group string) string {
	if group == PoliciesGroup {
		return "v1"
	}
	return "v2"
}

type schemaChecker struct{ found []placedProblem }

// place is the position of a value, or of its key if it has one, as in [Document.PositionOf].
type place struct{ line, column int }

func placeOf(e *entry) place { return place{e.line, e.column} }

type placedProblem struct {
	Problem
	place
}

func (c *schemaChecker) report(at place, path Path, reason, message, hint string) {
	if len(c.found) < MaxProblems {
		c.found = append(c.found, placedProblem{Problem{Path: path, Reason: reason, Message: message, Hint: hint}, at})
	}
}

func (c *schemaChecker) check(n *node, at place, s *schema, path Path) {
	if n.kind == scalarNode && n.scalar == nil {
		c.report(at, path, ProblemNullValue, "null is dropped by the API server, so the live object would differ from the signed one", "remove the key, or write the value")
		return
	}
	if s.kind != anyKind && kindOf(n) != s.kind {
		c.wrongType(n, at, s, path)
		return
	}
	switch s.kind {
	case anyKind:
		c.freeForm(n, at, path)
	case objectKind:
		c.object(n, at, s, path)
	case listKind:
		for i, item := range n.items {
			c.check(item, place{item.line, item.column}, s.items, path.With(i))
		}
	case textKind:
		c.text(n, at, s, path)
	}
}

// kindOf returns the kind of a node. A number has anyKind, which matches only fields of any value.
func kindOf(n *node) schemaKind {
	switch n.kind {
	case mappingNode:
		return objectKind
	case sequenceNode:
		return listKind
	}
	switch n.scalar.(type) {
	case string:
		return textKind
	case bool:
		return boolKind
	default:
		return anyKind
	}
}

func (c *schemaChecker) wrongType(n *node, at place, s *schema, path Path) {
	hint := ""
	if s.kind == textKind && n.kind == scalarNode {
		hint = "put it in quotes"
	}
	if s.kind == listKind && kindOf(n) == s.items.kind {
		hint = "write it as a list"
		if n.kind == scalarNode && s.items.kind == textKind {
			hint = fmt.Sprintf("write it as a list: [%s]", n.scalar)
		}
	}
	written := kindOf(n).String()
	if n.kind == scalarNode {
		if _, isText := n.scalar.(string); !isText {
			written = fmt.Sprintf("%v", n.scalar)
		}
	}
	c.report(at, path, ProblemWrongType, fmt.Sprintf("expected %s, found %s", s.kind, written), hint)
}

// missingHint returns a hint for a missing field. A namespace that a tool adds after the signing is
// not in the signed message.
func missingHint(path Path) string {
	if path.String() != "metadata.namespace" {
		return ""
	}
	return "write it in the file: a namespace that kustomize, Helm or kubectl adds is not part of the signed content"
}

// freeForm accepts any JSON that the API server returns unchanged. That includes a null deep
// inside; only a null in place of the whole field is dropped.
func (c *schemaChecker) freeForm(n *node, at place, path Path) {
	switch n.kind {
	case mappingNode:
		for i := range n.entries {
			e := &n.entries[i]
			c.freeForm(e.value, placeOf(e), path.With(e.key))
		}
	case sequenceNode:
		for i, item := range n.items {
			c.freeForm(item, place{item.line, item.column}, path.With(i))
		}
	default:
		f, isFloat := n.scalar.(float64)
		if isFloat && f == math.Trunc(f) {
			c.report(at, path, ProblemInvalidValue, "a whole number with a fraction or an exponent comes back from the API server as an integer", "write it in plain digits")
		}
	}
}

func (c *schemaChecker) object(n *node, at place, s *schema, path Path) {
	present := make(map[string]bool, len(s.fields))
	for i := range n.entries {
		e := &n.entries[i]
		if s.values != nil {
			c.check(e.value, placeOf(e), s.values, path.With(e.key))
			continue
		}
		f := s.field(e.key)
		if f == nil {
			c.unknown(placeOf(e), s, path.With(e.key), e.key)
			continue
		}
		present[f.name] = true
		c.check(e.value, placeOf(e), f.schema, path.With(e.key))
	}
	for _, f := range s.fields {
		if f.required && !present[f.name] {
			c.report(at, path.With(f.name), ProblemMissingField, fmt.Sprintf("%s is missing", path.With(f.name)), missingHint(path.With(f.name)))
		}
	}
	if a, b := s.apart[0], s.apart[1]; a != "" && present[a] && present[b] {
		c.report(at, path, ProblemInvalidValue, fmt.Sprintf("%s and %s exclude each other", a, b), "keep one of the two")
	}
	c.special(n, at, s, path)
}

func (c *schemaChecker) unknown(at place, s *schema, path Path, name string) {
	if s.special == objectMeta && serverField[name] {
		c.report(at, path, ProblemUnsignableField,
			fmt.Sprintf("%s is set by the API server or by controllers, and must not be signed", path), "remove it")
		return
	}
	c.report(at, path, ProblemUnknownField, fmt.Sprintf("there is no field %q here", shortened(name)), didYouMean(name, s))
}

// serverField lists the fields of metadata that an author does not write.
var serverField = map[string]bool{
	"creationTimestamp": true, "deletionGracePeriodSeconds": true, "deletionTimestamp": true,
	"finalizers": true, "generateName": true, "generation": true, "managedFields": true,
	"ownerReferences": true, "resourceVersion": true, "selfLink": true, "uid": true,
}

func (c *schemaChecker) text(n *node, at place, s *schema, path Path) {
	value := n.scalar.(string)
	switch {
	case len(s.enum) > 0:
		for _, allowed := range s.enum {
			if value == allowed {
				return
			}
		}
		c.report(at, path, ProblemInvalidValue, fmt.Sprintf("%q is not one of %s", shortened(value), strings.Join(s.enum, ", ")), Nearest(value, s.enum))
	case s.filled && value == "":
		c.report(at, path, ProblemEmptyValue, fmt.Sprintf("%s is empty", path), "")
	case s.format == "date-time":
		if _, err := ParseTime(value); err != nil {
			c.report(at, path, ProblemInvalidValue, err.Error(), "write it like 2026-12-31T17:00:00Z")
		}
	case s.special == subdomainName || s.special == labelName:
		c.name(at, s, path, value)
	}
}
