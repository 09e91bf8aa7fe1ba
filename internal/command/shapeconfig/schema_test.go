package shapeconfig

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/polex-dev/polex/pkg/shape"
)

var update = flag.Bool("update", false, "write docs/shape.schema.json anew")

const schemaFile = "../../../docs/shape.schema.json"

type object = map[string]any

// said is what the schema says of settings beyond their type, by their path.
var said = map[string]object{
	"preset":            {"description": "the settings to start from", "enum": []string{"baseline", "strict"}},
	"maxLifetime":       {"description": "the longest that an exception may live, such as 90d"},
	"limits":            {"description": "shorter maxima for some exceptions; each that concerns one holds"},
	"limits.policies":   {"description": "names or patterns"},
	"limits.namespaces": {"description": "names or patterns, of the exempted resources"},
	"limits.severities": {"description": "of the policies, as their annotation policies.kyverno.io/severity has it"},
	"renewals":          {"description": "what is required of an exception that renews another one, besides"},
	"renewals.max":      {"description": "how many renewals there may be in a row", "minimum": 0},
	"renewals.require":  {"items": object{"enum": shape.Statements()}},
	"allowUnbounded":    {"description": "permits exceptions that never expire"},
	"require":           {"description": "what an exception has to state", "items": object{"enum": shape.Statements()}},
	"requireInMatch":    {"description": "what each filter of a match has to list", "items": object{"enum": []string{"names", "namespaces", "subjects"}}},
	"maxPolicies":       {"description": "how many policies one exception may name; 0 is no limit", "minimum": 0},
	"namespaces":        {"description": "where exceptions may live: names, or patterns in which * is any text and ? any one character"},
	"checks":            {"description": "the level of each check, by its reason; docs/checks.md describes them", "additionalProperties": false},
	"guardPolicies":     {"description": "names or patterns that no exception may reach, besides those of polex and Kyverno"},
	"guardNamespaces":   {"description": "names or patterns that no exception may reach, besides those of polex and Kyverno"},
	"kyvernoVersion":    {"description": "the release of Kyverno that has to serve and heed the exception, such as 1.19"},
	"rules":             {"description": "checks of one's own, in CEL"},
	"rules.severity":    {"enum": []string{"error", "warning"}},
}

// schemaOf describes a setting.
func schemaOf(t reflect.Type, path string) object {
	s := typeOf(t, path)
	maps.Copy(s, said[path])
	return s
}

// typeOf describes a type of the section.
func typeOf(t reflect.Type, path string) object {
	s := object{}
	switch t.Kind() {
	case reflect.Pointer:
		return typeOf(t.Elem(), path)
	case reflect.String:
		s["type"] = "string"
	case reflect.Bool:
		s["type"] = "boolean"
	case reflect.Int:
		s["type"] = "integer"
	case reflect.Slice:
		s["type"], s["items"] = "array", typeOf(t.Elem(), path)
	case reflect.Map:
		s["type"], s["properties"] = "object", checks()
	case reflect.Struct:
		properties := object{}
		for i := range t.NumField() {
			name := t.Field(i).Tag.Get("json")
			properties[name] = schemaOf(t.Field(i).Type, strings.TrimPrefix(path+"."+name, "."))
		}
		s["type"], s["properties"], s["additionalProperties"] = "object", properties, false
	default:
		panic(t.String())
	}
	return s
}

// checks describes the levels that each check takes.
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

func schema(t *testing.T) []byte {
	t.Helper()
	s := schemaOf(reflect.TypeFor[section](), "")
	s["$schema"], s["title"] = "https://json-schema.org/draft/2020-12/schema", "The section shape of .polex.yaml"
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// TestSchema holds docs/shape.schema.json against the section and the list of checks.
func TestSchema(t *testing.T) {
	want := schema(t)
	if *update {
		if err := os.WriteFile(schemaFile, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/shape.schema.json is out of date: make generate")
	}
	for path := range said {
		if !strings.Contains(string(want), `"`+path[strings.LastIndex(path, ".")+1:]+`": {`) {
			t.Errorf("there is no setting %q", path)
		}
	}
}

// TestSchemaAccepts: the schema takes what polex takes, and no other.
func TestSchemaAccepts(t *testing.T) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema(t)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", value); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{
		`{}`: true,
		`{"preset": "strict", "maxLifetime": "30d", "allowUnbounded": true, "require": ["reason", "owner"], "requireInMatch": ["names"], "maxPolicies": 1}`: true,
		`{"limits": [{"maxLifetime": "7d", "policies": ["a"], "namespaces": ["prod-*"]}], "renewals": {"max": 2, "require": ["ticket"]}}`:                   true,
		`{"checks": {"wildcard-rule": "off", "no-expiry": "warning", "reaches-guard": "error"}}`:                                                            true,
		`{"rules": [{"name": "no-friday", "expression": "true", "message": "x", "severity": "warning"}]}`:                                                   true,
		`{"preset": "lenient"}`:                         false,
		`{"require": ["colour"]}`:                       false,
		`{"requireInMatch": ["kinds"]}`:                 false,
		`{"checks": {"reaches-guard": "off"}}`:          false,
		`{"checks": {"wildcards": "off"}}`:              false,
		`{"checks": {"wildcard-rule": "info"}}`:         false,
		`{"rules": [{"name": "a", "severity": "off"}]}`: false,
		`{"maxPolicies": "1"}`:                          false,
		`{"colour": "red"}`:                             false,
	} {
		instance, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(instance); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
		var s section
		if err := json.Unmarshal([]byte(text), &s); err != nil || !ok {
			continue
		}
		c, err := s.config()
		if err == nil {
			_, err = shape.New(c)
		}
		if err != nil {
			t.Errorf("%s is refused: %v", text, err)
		}
	}
}

// TestReasons: what SARIF says of a reason is the configuration's level, or else its own.
func TestReasons(t *testing.T) {
	config := shape.Strict()
	config.Rules = []shape.Rule{{Name: "no-friday", Message: "not on a Friday", Severity: shape.Warning}}
	levels := map[string]string{}
	for _, r := range Reasons(config) {
		levels[r.Name] = r.Severity.String()
	}
	for name, want := range map[string]string{
		shape.ReasonReachesGuard: "error", shape.ReasonOverlaps: "warning", shape.ReasonNotProvenNarrow: "error", shape.ReasonClaimsReview: "warning", shape.ReasonExpired: "error", "no-friday": "warning",
	} {
		if levels[name] != want {
			t.Errorf("%s: %q", name, levels[name])
		}
	}
	if len(levels) != len(shape.Reasons())+1 {
		t.Errorf("%v", levels)
	}
}
