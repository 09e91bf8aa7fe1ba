package schema

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/polex-dev/polex/pkg/exception"
)

// Reasons of a [Problem].
const (
	UnknownVersion  = "unknown-version"
	UnknownField    = "unknown-field"
	UnsignableField = "unsignable-field"
	MissingField    = "missing-field"
	WrongType       = "wrong-type"
	InvalidValue    = "invalid-value"
	NullValue       = "null-value"
	EmptyValue      = "empty-value"
)

// MaxProblems is the maximum number of results of [Check] for one document. So a hostile document
// does not produce a report larger than itself.
const MaxProblems = 100

// maxAnnotations is the maximum size in bytes of all keys and values of annotations.
const maxAnnotations = 256 << 10

// Problem is one place where the API server or Kyverno's webhook would reject a document, or store
// another value than the written one.
type Problem struct {
	Path    exception.Path
	Reason  string
	Message string // untrusted text quoted
	Hint    string // a possible correction; may be empty
}

// Check returns the problems of a PolicyException with the definitions of Kyverno 1.19.1: the places that the API
// server would reject, drop or change. They are in document order, at most [MaxProblems]. A silently dropped value is
// the worst one: the live object would differ from the signed one. A document of another kind has no problems.
func Check(d *exception.Document) []Problem {
	gk := d.GroupKind()
	if !gk.IsException() {
		return nil
	}
	s, known := schemaOf(gk.Group, d.Version())
	var c checker
	if !known {
		newest := "v2"
		if gk.Group == exception.PoliciesGroup {
			newest = "v1"
		}
		c.report(exception.Path{"apiVersion"}, UnknownVersion, "write "+gk.Group+"/"+newest,
			"%s has no version %q of PolicyException", gk.Group, exception.Shortened(d.Version()))
	}
	if other := Foreign(d); other != nil {
		return append(c.problems, *other)
	}
	c.check(d.Object(), s, nil)
	slices.SortStableFunc(c.problems, func(a, b Problem) int {
		x, y := d.PositionOf(a.Path), d.PositionOf(b.Path)
		return cmp.Or(cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column))
	})
	return c.problems
}

// Foreign returns the problem of an exception that has the fields of the other API group instead of its own, or nil.
func Foreign(d *exception.Document) *Problem {
	group, other, version := exception.KyvernoGroup, exception.PoliciesGroup, "v1"
	own, theirs := [2]string{"exceptions", "match"}, [2]string{"policyRefs", "matchConditions"}
	if d.GroupKind().Group == other {
		group, other, version, own, theirs = other, group, "v2", theirs, own
	}
	_, hasOwn := d.Lookup("spec", own[0])
	if _, hasTheirs := d.Lookup("spec", theirs[0]); hasOwn || !hasTheirs {
		return nil
	}
	return &Problem{exception.Path{"spec", theirs[0]}, UnknownField,
		fmt.Sprintf("%s and %s are fields of %s, and this is an exception of %s", theirs[0], theirs[1], other, group),
		fmt.Sprintf("write apiVersion: %s/%s, or write %s and %s", other, version, own[0], own[1])}
}

// meant are the edits for fields that people expect. Without some of them, an exception exempts more.
var meant = map[string]string{
	"exclude":         "an exception has no exclude: leave these resources out of the match or the match conditions",
	"allowedImages":   "write images, in an exception of " + exception.PoliciesGroup,
	"images":          "write images below podSecurity, or an exception of " + exception.PoliciesGroup,
	"allowedValues":   "write values below podSecurity, or an exception of " + exception.PoliciesGroup,
	"podSecurity":     "write images or allowedValues, or an exception of " + exception.KyvernoGroup,
	"preconditions":   "write conditions, in an exception of " + exception.KyvernoGroup,
	"conditions":      "write matchConditions",
	"matchConditions": "write match and conditions",
	"rules":           "write ruleNames",
	"expiresAt":       "write the annotation " + exception.AnnotationExpiresAt,
	"properties":      "write annotations, e.g. " + exception.AnnotationReason,
}

type checker struct{ problems []Problem }

func (c *checker) report(path exception.Path, reason, hint, format string, args ...any) {
	if len(c.problems) < MaxProblems {
		c.problems = append(c.problems, Problem{path, reason, fmt.Sprintf(format, args...), hint})
	}
}

func (c *checker) check(value any, s *schema, path exception.Path) {
	switch {
	case value == nil:
		c.report(path, NullValue, "remove the key, or write the value",
			"null is dropped by the API server, so the live object would differ from the signed one")
		return
	case s.kind() != anyKind && kindOf(value) != s.kind():
		c.wrongType(value, s, path)
		return
	case s.kind() == anyKind:
		c.freeForm(value, path)
		return
	}
	switch v := value.(type) {
	case map[string]any:
		c.object(v, s, path)
	case []any:
		for i, item := range v {
			c.check(item, s.Items, path.With(i))
		}
	case string:
		c.text(v, s, path)
	}
}

func (c *checker) wrongType(value any, s *schema, path exception.Path) {
	found := kindOf(value)
	scalar := found != objectKind && found != listKind
	hint := ""
	switch want := s.kind(); {
	case want == textKind && scalar:
		hint = "put it in quotes"
	case want == listKind && found == textKind && s.Items.kind() == textKind:
		hint = fmt.Sprintf("write it as a list: [%s]", value)
	case want == listKind && found == s.Items.kind():
		hint = "write it as a list"
	}
	written := string(found)
	if scalar && found != textKind {
		written = fmt.Sprintf("%v", value)
	}
	c.report(path, WrongType, hint, "expected %s, found %s", s.kind(), written)
}

// freeForm accepts any JSON that the API server returns unchanged. That includes a null deep
// inside; only a null in place of the whole field is dropped.
func (c *checker) freeForm(value any, path exception.Path) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			c.freeForm(v[key], path.With(key))
		}
	case []any:
		for i, item := range v {
			c.freeForm(item, path.With(i))
		}
	case float64:
		if v == math.Trunc(v) {
			c.report(path, InvalidValue, "write it in plain digits",
				"a whole number with a fraction or an exponent comes back from the API server as an integer")
		}
	}
}

func (c *checker) object(object map[string]any, s *schema, path exception.Path) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		switch f := s.Properties[key]; {
		case s.Values != nil:
			c.check(object[key], s.Values, path.With(key))
		case f != nil:
			c.check(object[key], f, path.With(key))
		default:
			c.unknown(s, path.With(key), key)
		}
	}
	has := func(name string) bool { _, exists := object[name]; return exists }
	for _, name := range s.Required {
		if at := path.With(name); !has(name) {
			hint := ""
			if at.String() == "metadata.namespace" {
				hint = "write it in the file: a namespace that kustomize, Helm or kubectl adds is not part of the " +
					"signed content"
			}
			c.report(at, MissingField, hint, "%s is missing", at)
		}
	}
	if apart := s.Not.Required; len(apart) == 2 && has(apart[0]) && has(apart[1]) {
		c.report(path, InvalidValue, "keep one of the two", "%s and %s exclude each other", apart[0], apart[1])
	}
	if s.special == labelMap || s.special == annotationMap {
		c.metadata(object, s, path)
	}
}

// ServerFields are the fields of metadata that an author does not write.
var ServerFields = []string{"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers",
	"generateName", "generation", "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid"}

func (c *checker) unknown(s *schema, path exception.Path, name string) {
	if s.special == objectMeta && slices.Contains(ServerFields, name) {
		c.report(path, UnsignableField, "remove it",
			"%s is set by the API server or by controllers, and must not be signed", path)
		return
	}
	c.report(path, UnknownField, cmp.Or(meant[name], exception.Nearest(name, slices.Sorted(maps.Keys(s.Properties))),
		"remove it, if the exception is right without it: the API server would drop it"),
		"there is no field %q here", exception.Shortened(name))
}

// metadata checks labels and annotations. The API server drops an empty mapping, and rejects keys
// and values of another form. It accepts the prefix of an annotation in any letter case.
func (c *checker) metadata(object map[string]any, s *schema, path exception.Path) {
	if len(object) == 0 {
		c.report(path, EmptyValue, "remove it",
			"an empty mapping is dropped by the API server, so the live object would differ from the signed one")
		return
	}
	size := 0
	for _, key := range slices.Sorted(maps.Keys(object)) {
		value, _ := object[key].(string)
		size += len(key) + len(value)
		name := key
		if s.special == annotationMap {
			name = strings.ToLower(key)
		}
		if !exception.IsQualifiedName(name) {
			c.report(path.With(key), InvalidValue, "write it like example.com/name or name",
				"%q is not the key of a label or annotation", exception.Shortened(key))
		}
		if s.special == labelMap && !exception.IsLabelValue(value) {
			c.report(path.With(key), InvalidValue,
				"use at most 63 letters, digits, dashes, underscores and dots, or an annotation",
				"%q is not a label's value", exception.Shortened(value))
		}
	}
	if s.special == annotationMap && size > maxAnnotations {
		c.report(path, InvalidValue, "", "the annotations are larger than %d KiB together", maxAnnotations>>10)
	}
}

func (c *checker) text(value string, s *schema, path exception.Path) {
	named := s.special == subdomainName || s.special == labelName
	switch {
	case (s.filled || named) && value == "":
		c.report(path, EmptyValue, "", "%s is empty", path)
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, value):
		c.report(path, InvalidValue, exception.Nearest(value, s.Enum),
			"%q is not one of %s", exception.Shortened(value), strings.Join(s.Enum, ", "))
	case s.Format == "date-time":
		if _, err := exception.ParseTime(value); err != nil {
			c.report(path, InvalidValue, "write it like 2026-12-31T17:00:00Z", "%s", err)
		}
	case s.special == labelName && len(content.IsDNS1123Label(value)) > 0:
		c.report(path, InvalidValue, "use at most 63 lower-case letters, digits and dashes, a letter or digit first "+
			"and last", "%q is not a namespace's name", exception.Shortened(value))
	case s.special == subdomainName && len(content.IsDNS1123Subdomain(value)) > 0:
		c.report(path, InvalidValue, "use at most 253 lower-case letters, digits, dashes and dots, a letter or digit "+
			"first and last", "%q is not an object's name", exception.Shortened(value))
	}
}
