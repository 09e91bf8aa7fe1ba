package exception

// schema is the type of one value, as in the custom resource definitions. The schemas are in
// schematable.go.
type schema struct {
	kind    schemaKind
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

type schemaKind int

const (
	anyKind schemaKind = iota // any JSON, kept as it is
	textKind
	boolKind
	listKind
	objectKind
)

// String returns the name of the kind in messages.
func (k schemaKind) String() string {
	switch k {
	case textKind:
		return "text"
	case boolKind:
		return "true or false"
	case listKind:
		return "a list"
	case objectKind:
		return "keys with values"
	default:
		return "any value"
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
	if group == PoliciesGroup {
		return policiesSchema, version == "v1alpha1" || version == "v1beta1" || version == "v1"
	}
	// Kyverno 1.13 removed v2alpha1, which had the fields of v2beta1.
	return kyvernoSchema, version == "v2alpha1" || version == "v2beta1" || version == "v2"
}
