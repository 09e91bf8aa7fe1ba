package schema

import "github.com/polex-dev/polex/pkg/exception"

// schema is the type of one value, as in the custom resource definitions. The schemas are in table.go.
type schema struct {
	kind    kind
	fields  []field    // of an object
	values  *schema    // of an object with free keys
	items   *schema    // of a list
	enum    []string   // of a text
	format  string     // of a text: "date-time" or ""
	preset  string     // of a text: the default that the API server writes
	apart   [2]string  // of an object: two fields that exclude each other
	filled  bool       // of a text: Kyverno's webhook rejects ""
	special specialist // rules that the definitions leave to the API server's code
}

type field struct {
	name     string
	required bool
	schema   *schema
}

// kind is the type of a value, in the words of messages.
type kind string

const (
	anyKind    kind = "any value" // any JSON, kept as it is
	textKind   kind = "text"
	boolKind   kind = "true or false"
	listKind   kind = "a list"
	objectKind kind = "keys with values"
)

// kindOf returns the kind of a value. A number and null have anyKind, which matches only fields of any value.
func kindOf(value any) kind {
	switch value.(type) {
	case map[string]any:
		return objectKind
	case []any:
		return listKind
	case string:
		return textKind
	case bool:
		return boolKind
	default:
		return anyKind
	}
}

// specialist marks the parts of metadata with rules of their own.
type specialist int

const (
	nothingSpecial specialist = iota
	objectMeta
	labelMap
	annotationMap
	subdomainName
	labelName
)

func (s *schema) field(name string) *field {
	for i := range s.fields {
		if s.fields[i].name == name {
			return &s.fields[i]
		}
	}
	return nil
}

func must(name string, s *schema) field { return field{name: name, required: true, schema: s} }
func may(name string, s *schema) field  { return field{name: name, schema: s} }

func object(fields ...field) *schema { return &schema{kind: objectKind, fields: fields} }
func list(items *schema) *schema     { return &schema{kind: listKind, items: items} }
func textMap() *schema               { return &schema{kind: objectKind, values: text()} }
func text() *schema                  { return &schema{kind: textKind} }
func filledText() *schema            { return &schema{kind: textKind, filled: true} }
func oneOf(values ...string) *schema { return &schema{kind: textKind, enum: values} }
func anything() *schema              { return &schema{kind: anyKind} }

func (s *schema) notBoth(a, b string) *schema {
	s.apart = [2]string{a, b}
	return s
}

func (s *schema) as(special specialist) *schema {
	s.special = special
	return s
}

// The schemas are made once. They do not change, and a stream of thousands of documents uses them
// for each.
var (
	kyvernoSchema  = exceptionOf(kyvernoSpec())
	policiesSchema = exceptionOf(policiesSpec())
)

// schemaOf returns the schema of an API version. An unknown version is read with its group's newest
// schema, so that the rest of the document is checked.
func schemaOf(group, version string) (s *schema, known bool) {
	if group == exception.PoliciesGroup {
		return policiesSchema, version == "v1alpha1" || version == "v1beta1" || version == "v1"
	}
	// Kyverno 1.13 removed v2alpha1, which had the fields of v2beta1.
	return kyvernoSchema, version == "v2alpha1" || version == "v2beta1" || version == "v2"
}

// Defaults returns the values that the API server would add to a PolicyException, for [exception.Document.Add]. A
// signed document must contain them, or the live object differs from it. For Kyverno 1.19.1 that is
// "spec.reportResult: skip" of policies.kyverno.io.
func Defaults(d *exception.Document) []exception.Addition {
	gk := d.GroupKind()
	if !gk.IsException() {
		return nil
	}
	s, known := schemaOf(gk.Group, d.Version())
	if !known {
		return nil
	}
	return s.defaults(nil, d.Object(), nil)
}

func (s *schema) defaults(additions []exception.Addition, value any, path exception.Path) []exception.Addition {
	object, _ := value.(map[string]any)
	if object == nil {
		return additions
	}
	for _, f := range s.fields {
		switch below, exists := object[f.name]; {
		case exists:
			additions = f.schema.defaults(additions, below, path.With(f.name))
		case f.schema.preset != "":
			additions = append(additions, exception.Addition{Path: path.With(f.name), Value: f.schema.preset})
		}
	}
	return additions
}
