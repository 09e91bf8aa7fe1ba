package exception

import (
	"fmt"
	"maps"
	"slices"
)

// says lists the known keywords of a schema. Some of them do not constrain values.
var says = []string{
	"type", "format", "enum", "default", "items", "properties", "required", "additionalProperties", "not",
	"x-kubernetes-preserve-unknown-fields", "description", "x-kubernetes-list-type", "x-kubernetes-map-type",
}

// fromOpenAPI reads the part of a structural schema that definitions of PolicyException use. Any
// other constraint is an error.
func fromOpenAPI(from map[string]any, path Path) (*schema, error) {
	for _, word := range slices.Sorted(maps.Keys(from)) {
		if !slices.Contains(says, word) {
			return nil, fmt.Errorf("%s: %q is not supported, and it may reject more than polex knows", path, word)
		}
	}
	if preserve, _ := from["x-kubernetes-preserve-unknown-fields"].(bool); preserve {
		return anything(), nil
	}
	kind, _ := from["type"].(string)
	switch kind {
	case "string":
		s := text()
		s.format, _ = from["format"].(string)
		s.preset, _ = from["default"].(string)
		s.enum = words(from["enum"])
		return s, nil
	case "boolean":
		return &schema{kind: boolKind}, nil
	case "array":
		items, _ := from["items"].(map[string]any)
		s, err := fromOpenAPI(items, path.With("items"))
		return list(s), err
	case "object":
		return objectFromOpenAPI(from, path)
	default:
		return nil, fmt.Errorf("%s: the type %q is not supported", path, kind)
	}
}

func objectFromOpenAPI(from map[string]any, path Path) (*schema, error) {
	s := object()
	if values, free := from["additionalProperties"].(map[string]any); free {
		var err error
		s.values, err = fromOpenAPI(values, path.With("additionalProperties"))
		return s, err
	}
	required := words(from["required"])
	properties, _ := from["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(map[string]any)
		of, err := fromOpenAPI(property, path.With("properties").With(name))
		if err != nil {
			return nil, err
		}
		s.fields = append(s.fields, field{name: name, required: slices.Contains(required, name), schema: of})
	}
	if not, there := from["not"].(map[string]any); there {
		apart := words(not["required"])
		if len(not) != 1 || len(apart) != 2 {
			return nil, fmt.Errorf("%s: %q is not supported, except for two fields that exclude each other", path, "not")
		}
		s.notBoth(apart[0], apart[1])
	}
	return s, nil
}

func words(value any) []string {
	items, _ := value.([]any)
	var found []string
	for _, item := range items {
		word, _ := item.(string)
		found = append(found, word)
	}
	return found
}
