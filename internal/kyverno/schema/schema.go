package schema

import (
	"cmp"
	_ "embed" // for the definitions
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/polex-dev/polex/pkg/exception"
)

// definitions are the schemas of the custom resource definitions of Kyverno 1.19.1 by API group, without prose.
// Versions of a group do not differ. go generate writes the file.
//
//go:embed definitions.json
var definitions []byte

// schema is the type of one value, as in the custom resource definitions.
type schema struct {
	Type       string // of JSON; "" is any JSON, kept as it is
	Properties map[string]*schema
	Required   []string
	Values     *schema `json:"additionalProperties"` // of an object with free keys
	Items      *schema
	Enum       []string
	Format     string                      // of a text: "date-time" or ""
	Default    string                      // of a text: the API server writes it
	Not        struct{ Required []string } // two fields that exclude each other
	filled     bool                        // of a text: Kyverno's webhook rejects ""
	special    specialist                  // rules that the definitions leave to the API server's code
}

// kind is the type of a value, in the words of messages.
type kind string

const (
	anyKind    kind = "" // a number and null have it, which match only fields of any value
	textKind   kind = "text"
	listKind   kind = "a list"
	objectKind kind = "keys with values"
)

var kinds = map[string]kind{"string": textKind, "boolean": "true or false", "array": listKind, "object": objectKind}

func (s *schema) kind() kind { return kinds[s.Type] }

func kindOf(value any) kind {
	switch value.(type) {
	case map[string]any:
		return objectKind
	case []any:
		return listKind
	case string:
		return textKind
	case bool:
		return kinds["boolean"]
	}
	return anyKind
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

// schemas are read once. They do not change, and a stream of thousands of documents uses them for each.
var schemas = sync.OnceValue(func() map[string]*schema {
	all := map[string]*schema{}
	if err := json.Unmarshal(definitions, &all); err != nil {
		return nil // a document has no known field then
	}
	for _, s := range all {
		s.Required = []string{"apiVersion", "kind", "metadata", "spec"}
		// The fields that an author may write. The API server and controllers write the others.
		s.Properties["metadata"] = &schema{
			Type: "object", special: objectMeta, Required: []string{"name", "namespace"},
			Properties: map[string]*schema{
				"name":        {Type: "string", special: subdomainName},
				"namespace":   {Type: "string", special: labelName},
				"labels":      {Type: "object", Values: &schema{Type: "string"}, special: labelMap},
				"annotations": {Type: "object", Values: &schema{Type: "string"}, special: annotationMap},
			},
		}
		for _, list := range []string{"policyRefs", "matchConditions", "exceptions"} {
			if of := s.Properties["spec"].Properties[list]; of != nil {
				for _, field := range of.Items.Properties {
					field.filled = field.Type == "string"
				}
			}
		}
	}
	return all
})

// schemaOf returns the schema of an API version. An unknown version is read like the others of its group, so that the
// rest of the document is checked.
func schemaOf(group, version string) (s *schema, known bool) {
	versions := []string{"v2alpha1", "v2beta1", "v2"} // Kyverno 1.13 removed v2alpha1, which had the fields of v2beta1
	if group == exception.PoliciesGroup {
		versions = []string{"v1alpha1", "v1beta1", "v1"}
	}
	return cmp.Or(schemas()[group], &schema{Type: "object"}), slices.Contains(versions, version)
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
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		switch below, exists := object[name]; {
		case exists:
			additions = s.Properties[name].defaults(additions, below, path.With(name))
		case s.Properties[name].Default != "":
			additions = append(additions, exception.Addition{Path: path.With(name), Value: s.Properties[name].Default})
		}
	}
	return additions
}
