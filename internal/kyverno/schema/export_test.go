package schema

// AsOpenAPI returns the schema of an API version in the form of a custom resource definition,
// for a comparison.
func AsOpenAPI(group, version string) (map[string]any, bool) {
	s, known := schemaOf(group, version)
	return s.openAPI(), known
}

func (s *schema) openAPI() map[string]any {
	out := map[string]any{}
	switch s.kind {
	case anyKind:
		return map[string]any{"x-kubernetes-preserve-unknown-fields": true}
	case textKind:
		out["type"] = "string"
	case boolKind:
		out["type"] = "boolean"
	case listKind:
		out["type"] = "array"
		out["items"] = s.items.openAPI()
	case objectKind:
		out["type"] = "object"
	}
	if s.special == objectMeta {
		return out // the definition leaves it to the API server
	}
	var required []any
	properties := map[string]any{}
	for _, f := range s.fields {
		properties[f.name] = f.schema.openAPI()
		if f.required {
			required = append(required, f.name)
		}
	}
	if len(properties) > 0 {
		out["properties"] = properties
	}
	if required != nil {
		out["required"] = required
	}
	if s.values != nil {
		out["additionalProperties"] = s.values.openAPI()
	}
	if s.format != "" {
		out["format"] = s.format
	}
	if s.preset != "" {
		out["default"] = s.preset
	}
	var enum []any
	for _, value := range s.enum {
		enum = append(enum, value)
	}
	if enum != nil {
		out["enum"] = enum
	}
	if s.apart[0] != "" {
		out["not"] = map[string]any{"required": []any{s.apart[0], s.apart[1]}}
	}
	return out
}
