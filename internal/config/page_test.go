package config

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const pageIntro = `# Configuration

This page is generated from the code: every key of ` + "`.polex.yaml`" + `, in order of the sections.

` + "```yaml" + `
# yaml-language-server: $schema=https://raw.githubusercontent.com/polex-dev/polex/main/docs/polex.schema.json
apiVersion: polex.dev/v1alpha1
kind: Config
shape:
  preset: strict
` + "```" + `

- The file is optional. ` + "`polex-validate`, `polex-request`, `polex-sign` and `polex-prune`" + ` read the ` + "`.polex.yaml`" + ` at the root of the repository, or the file that ` + "`--config`" + ` names.
- ` + "`polex-verify`, `polex-audit` and `polex-guard`" + ` read only the file that ` + "`--config`" + ` names: a gate never takes its trust policy from the repository that it verifies.
- A flag wins over the file, and ` + "`--preset`" + ` wins over every key that presets set.
- ` + "`--preset strict`" + ` limits the lifetime to 30 days, also if ` + "`trust`" + ` allows more.
- An unknown key, a value of another type, a value beyond its limits and a key without a value are errors: exit code 2, with the position of the key.
- A file has at most 512 KiB. It is one YAML document.
- Without a default, a boolean is false, a number 0, and a list or text empty.
- A duration is whole weeks, days, hours, minutes and seconds, the longest first: ` + "`4h`, `90d`, `1d12h`" + `.
- [polex.schema.json](../polex.schema.json) is the JSON Schema of the file. A file of ` + "`kind: TrustPolicy`" + ` holds the section ` + "`trust`" + ` alone and has [its own](../trustpolicy.schema.json).
`

// more contains the page that explains a section.
var more = map[string]string{
	"statements": "[Validation](../how-to/validate.md#statements-under-your-own-keys) explains it.",
	"shape":      "[Checks](reasons.md#checks) explains the checks, and [Lifetime and expiry](../explanation/lifetimes.md) the maximum lifetimes.", "promote": "[Promotion](../how-to/promote.md) and [Approvals](../explanation/approvals.md) explain it.",
	"lifetime": "[Lifetime and expiry](../explanation/lifetimes.md) explains it.", "sigstore": "[Privacy](../explanation/workflow.md#privacy) says what signing publishes.", "trust": "[Trust policy](trust.md) explains it.", "guard": "[The guard](guard.md) explains it.",
}

const selectors = `
### Selectors

Keys of ` + "`trust.authorities[].limits` and of `trust.lifetimes[]`" + `. A document has to be within ` + "`limits`" + `, and is not if it does not state the value. A rule of ` + "`lifetimes`" + ` also applies to a document that may match. [Selectors](trust.md#selectors) has the difference for each key.

| key | type | description |
| --- | --- | --- |
`

// page returns docs/reference/configuration.md.
func page(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(pageIntro)
	for _, section := range fields(reflect.TypeFor[file]()) {
		name, by := section.Tag.Get("json"), section.Tag.Get("by")
		if by == "" {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s. Read by %s.", name, capital(section.Tag.Get("doc")), commands(by))
		if more[name] != "" {
			b.WriteString(" " + more[name])
		}
		b.WriteString("\n\n| key | type | description |\n| --- | --- | --- |\n")
		switch {
		case section.Type.Kind() == reflect.Map:
			row(&b, name, "map of statement to list of keys", "", "`"+strings.Join(strings.Fields(section.Tag.Get("keys")), "`, `")+"`", "keys of your own that state it, as polex.dev/reason states the reason")
		case name == "trust":
			trust := trustSchema(t)
			defs := trust["$defs"].(object)
			trustRows(t, &b, name, trust, defs)
			b.WriteString(selectors)
			trustRows(t, &b, "", defs["selectors"].(object), defs)
		case owned[name] != nil:
			rows(&b, name, owned[name], by)
		default:
			rows(&b, name, section.Type, by)
		}
	}
	return b.String()
}

func row(b *strings.Builder, key, kind, otherwise, limits, doc string) {
	if limits != "" {
		kind += ": " + limits
	}
	if !slices.Contains([]string{"", "false", "none", "0"}, otherwise) {
		doc += ". Default: " + otherwise
	}
	fmt.Fprintf(b, "| `%s` | %s | %s |\n", key, strings.ReplaceAll(kind, "|", "\\|"), strings.ReplaceAll(doc, "|", "\\|"))
}

// rows writes a row for each key of a type.
func rows(b *strings.Builder, above string, t reflect.Type, sectionBy string) {
	for _, field := range fields(t) {
		key, doc, kind := above+"."+field.Tag.Get("json"), field.Tag.Get("doc"), typeName(field.Type)
		if by := field.Tag.Get("by"); by != "" && by != sectionBy {
			doc += ". Read by " + commands(by)
		}
		below := field.Type
		if below.Kind() == reflect.Slice {
			below = below.Elem()
		}
		limits := ""
		if known := strings.Fields(field.Tag.Get("enum")); len(known) > 0 {
			limits = "`" + strings.Join(known, "`, `") + "`"
		}
		least, most := limit(field.Tag, "min"), limit(field.Tag, "max")
		switch {
		case least != nil && most != nil:
			limits = fmt.Sprintf("%d to %d", *least, *most)
		case least != nil:
			limits = fmt.Sprintf("at least %d", *least)
		case field.Type.Kind() == reflect.Map:
			limits = "`off`, `warning`, `error`; some checks are always `error`"
		}
		if format := field.Tag.Get("format"); format != "" {
			kind = map[string]string{"duration": "duration", "address": "https address"}[format]
		}
		row(b, key, kind, field.Tag.Get("default"), limits, doc)
		if below.Kind() == reflect.Struct {
			if field.Type.Kind() == reflect.Slice {
				key += "[]"
			}
			rows(b, key, below, sectionBy)
		}
	}
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return "list"
		}
		return "list of strings"
	case reflect.Map:
		return "map of reason to level"
	case reflect.Struct:
		return "section"
	default:
		return map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer"}[t.Kind()]
	}
}

// trustDefaults are the defaults of the trust policy.
var trustDefaults = map[string]string{
	"trust.allowUnbounded": "false", "trust.kinds": "PolicyException of both groups", "trust.maxLifetime": "no limit", "trust.threshold": "1", "trust.trustedRoot": "the public-good Sigstore",
	"trust.authorities[].insecureWithoutLog": "false", "trust.authorities[].limits": "no limit", "trust.renewals.requireNewApprover": "false",
}

// trustRows writes a row for each key of a JSON Schema.
func trustRows(t *testing.T, b *strings.Builder, above string, schema, defs object) {
	t.Helper()
	properties := schema["properties"].(object)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if above == "trust" && (name == "apiVersion" || name == "kind") {
			continue
		}
		said := resolved(properties[name].(object), defs)
		if strings.HasPrefix(fmt.Sprint(properties[name].(object)["$ref"]), "#/$defs/selectors/") {
			continue // the table of selectors has it
		}
		key, kind, limits := strings.TrimPrefix(above+"."+name, "."), fmt.Sprint(said["type"]), trustLimits(said)
		below := said
		switch {
		case properties[name].(object)["$ref"] == "#/$defs/duration":
			kind = "duration"
		case properties[name].(object)["$ref"] == "#/$defs/selectors":
			kind, below = "[selectors](#selectors)", object{}
		case refersTo(properties[name].(object), "values"):
			kind = "string, or list of strings"
		case refersTo(properties[name].(object), "numbers"):
			kind = "integer, or list of integers"
		case kind == "array":
			if below = resolved(said["items"].(object), defs); below["properties"] == nil {
				kind = "list of strings"
				limits = trustLimits(below)
			} else {
				kind = "list"
			}
		case kind == "object":
			kind = "section"
			if said["properties"] == nil {
				kind = "map of name to string"
			}
		}
		expect.That(t, kind != "<nil>", "%s has no type", key)
		row(b, key, kind, trustDefaults[key], limits, fmt.Sprint(said["description"]))
		if below["properties"] != nil {
			if kind == "list" {
				key += "[]"
			}
			trustRows(t, b, key, below, defs)
		}
	}
}

// refersTo reports whether a schema is a definition, alone or with further rules (allOf).
func refersTo(schema object, name string) bool {
	all, _ := schema["allOf"].([]any)
	for _, one := range append(all, any(schema)) {
		if one.(object)["$ref"] == "#/$defs/"+name {
			return true
		}
	}
	return false
}

// resolved returns a schema merged with its reference; its own fields take precedence.
func resolved(schema, defs object) object {
	name, ok := strings.CutPrefix(fmt.Sprint(schema["$ref"]), "#/$defs/")
	if !ok {
		return schema
	}
	def := any(defs)
	for step := range strings.SplitSeq(name, "/") {
		def = def.(object)[step]
	}
	all := maps.Clone(resolved(def.(object), defs))
	maps.Copy(all, schema)
	return all
}

func trustLimits(s object) string {
	switch {
	case s["minimum"] != nil && s["maximum"] != nil:
		return fmt.Sprintf("%v to %v", s["minimum"], s["maximum"])
	case s["maxLength"] != nil:
		return fmt.Sprintf("at most %v characters", s["maxLength"])
	}
	return ""
}

func commands(by string) string {
	names := strings.Fields(by)
	for i, name := range names {
		names[i] = "`polex-" + name + "`"
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return names[0]
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

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
	must.Do(t, err)
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

var update = flag.Bool("update", false, "write docs/polex.schema.json and docs/reference/configuration.md anew")

// TestGenerated compares the generated files with the types.
func TestGenerated(t *testing.T) {
	text := must.Get(json.MarshalIndent(schema(t), "", "  "))(t)
	for name, want := range map[string]string{"polex.schema.json": string(text) + "\n", "reference/configuration.md": page(t)} {
		path := filepath.Join("..", "..", "docs", name)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil { //nolint:gosec // it goes to Git
				t.Fatal(err)
			}
		}
		got := must.Get(os.ReadFile(path))(t)
		expect.Equal(t, fmt.Sprintf("docs/%s is out of date; make generate", name), want, string(got))
	}
}

// TestEveryKeyIsExplained: each key has a description, and each tag is known.
func TestEveryKeyIsExplained(t *testing.T) {
	var explained func(above string, in reflect.Type)
	explained = func(above string, in reflect.Type) {
		for in.Kind() == reflect.Slice || in.Kind() == reflect.Pointer {
			in = in.Elem()
		}
		if in.Kind() != reflect.Struct {
			return
		}
		for _, field := range fields(in) {
			key := above + "." + field.Tag.Get("json")
			expect.That(t, field.Tag.Get("doc") != "" || key == ".apiVersion" || key == ".kind",
				"%s is not explained", key)
			if format := field.Tag.Get("format"); format != "" && format != "duration" && format != "address" && format != "key" {
				t.Errorf("%s: there is no format %q", key, format)
			}
			explained(key, field.Type)
		}
	}
	for key := range trustDefaults {
		expect.That(t, strings.Contains(page(t), "\n| `"+key+"` | "), "there is no key %s", key)
	}
	field, _ := Field(owned["shape"], "require")
	expect.Equal(t, "shape.require (-code +tag)", exception.StatementNames(), strings.Fields(field.Tag.Get("enum")))
	if keys := strings.Count(page(t), "\n| `"); keys > 85 {
		t.Errorf("there are %d keys; a setting exists only if two honest teams need different values", keys)
	}
	explained("", reflect.TypeFor[file]())
	for name, section := range owned {
		explained("."+name, section)
	}
}
