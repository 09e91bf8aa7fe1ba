package config

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
)

type object = map[string]any

// owned are the sections of other packages, except trust, which has docs/trustpolicy.schema.json.
var owned = map[string]reflect.Type{"shape": reflect.TypeFor[shape.Config]()}

// schema returns the JSON Schema of a configuration.
func schema(t *testing.T) object {
	t.Helper()
	trust := trustSchema(t)
	root := typeSchema(reflect.TypeFor[file]())
	properties := root["properties"].(object)
	properties["apiVersion"], properties["kind"] = object{"const": apiVersion}, object{"const": kind}
	for name, section := range owned {
		properties[name] = describe(typeSchema(section), properties[name].(object)["description"].(string))
	}
	section := trust["properties"].(object)
	delete(section, "apiVersion")
	delete(section, "kind")
	properties["trust"] = object{"type": "object", "description": properties["trust"].(object)["description"], "properties": section, "additionalProperties": false}
	root["$schema"], root["$id"] = "https://json-schema.org/draft/2020-12/schema", "https://polex.dev/schemas/v1alpha1/config.json"
	root["title"], root["description"] = "The configuration of polex: .polex.yaml (kind: Config)", "docs/reference/configuration.md is the reference. What this schema refuses, polex refuses too; polex also checks what a schema cannot."
	root["required"], root["$defs"] = []string{"apiVersion", "kind"}, trust["$defs"]
	return root
}

func trustSchema(t *testing.T) (schema object) {
	t.Helper()
	raw, err := os.ReadFile("../../docs/trustpolicy.schema.json")
	if err == nil {
		err = json.Unmarshal(raw, &schema)
	}
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func describe(schema object, doc string) object {
	if doc != "" {
		schema["description"] = doc
	}
	return schema
}

// typeSchema returns the schema of a type.
func typeSchema(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Pointer:
		return typeSchema(t.Elem())
	case reflect.Struct:
		properties := object{}
		for _, field := range fields(t) {
			properties[field.Tag.Get("json")] = fieldSchema(field)
		}
		return object{"type": "object", "properties": properties, "additionalProperties": false}
	case reflect.Slice:
		return object{"type": "array", "items": typeSchema(t.Elem())}
	case reflect.Map:
		if t.Elem().Kind() == reflect.Slice {
			return object{"type": "object", "additionalProperties": typeSchema(t.Elem())}
		}
		return object{"type": "object", "properties": checks(), "additionalProperties": false}
	case reflect.Interface:
		return object{}
	default:
		return object{"type": map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer"}[t.Kind()]}
	}
}

// fields returns the fields of a struct that are keys of the configuration.
func fields(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return strings.Trim(f.Tag.Get("json"), "-") == "" })
}

func fieldSchema(field reflect.StructField) object {
	s := typeSchema(field.Type)
	value := s
	if items, ok := s["items"].(object); ok {
		value = items
	}
	if known := strings.Fields(field.Tag.Get("enum")); len(known) > 0 {
		value["enum"] = known
	}
	if known := strings.Fields(field.Tag.Get("keys")); len(known) > 0 {
		s["propertyNames"] = object{"enum": known}
	}
	for tag, word := range map[string]string{"min": "minimum", "max": "maximum"} {
		if n := limit(field.Tag, tag); n != nil {
			value[word] = *n
		}
	}
	switch field.Tag.Get("format") {
	case "duration":
		value = object{"$ref": "#/$defs/duration"}
		if _, list := s["items"]; !list {
			s = value
		}
	case "address":
		value["pattern"] = addressForm.String()
	}
	doc := field.Tag.Get("doc")
	if otherwise := field.Tag.Get("default"); otherwise != "" {
		doc += " (default: " + otherwise + ")"
	}
	return describe(s, doc)
}

// checks returns the schema of each check's levels.
func checks() object {
	all := object{}
	for _, r := range shape.Reasons() {
		levels := []shape.Level{shape.LevelOff, shape.LevelWarning, shape.LevelError}
		if r.Fixed {
			levels = levels[2:]
		}
		all[r.Name] = object{"description": r.Doc, "enum": levels, "default": r.Severity.String()}
	}
	return all
}
