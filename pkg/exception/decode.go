package exception

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
)

// Decode fills into, a pointer to a struct with json tags, from the value at path. Keys match
// exactly, case included. An unknown key or a value of another type is a *[SyntaxError] with its
// position and, for a key, a hint with a similar known key. If there is no value at path, into
// stays unchanged.
func (d *Document) Decode(into any, path ...any) error {
	value, ok := d.Lookup(path...)
	if !ok {
		return nil
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("decode %s: %w", Path(path), err)
	}
	strict, err := kjson.UnmarshalStrict(raw, into)
	if err == nil && len(strict) > 0 {
		err = strict[0]
	}
	if err == nil {
		return nil
	}
	var below Path
	if m := fieldInError.FindStringSubmatch(err.Error()); m != nil {
		for _, step := range dottedPath(m[1]) {
			// The decoder's path includes embedded structs.
			if _, exists := d.Lookup(append(slices.Concat(path, below), step)...); exists {
				below = append(below, step)
			}
		}
	}
	at := Path(append(slices.Clone(path), below...))
	found, _ := d.Lookup(at...)
	if m := typeInError.FindStringSubmatch(err.Error()); m != nil && !strings.HasPrefix(m[3], "[]") {
		if list, ok := found.([]any); ok { // the decoder names the list, and means an item
			if i := slices.IndexFunc(list, func(item any) bool { return jsonKind(item) == m[1] }); i >= 0 {
				below, at, found = below.With(i), at.With(i), list[i]
			}
		}
	}
	return &SyntaxError{Position: d.PositionOf(at), Message: decodeMessage(err, at),
		Hint: keyHint(reflect.TypeOf(into), below, found)}
}

// jsonKind returns the name of a value's type in the decoder's errors.
func jsonKind(value any) string {
	switch value.(type) {
	case string:
		return "string"
	case bool:
		return "bool"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "number"
}

// decodeMessage returns a message without Go's types.
func decodeMessage(err error, at Path) string {
	m := typeInError.FindStringSubmatch(err.Error())
	if m == nil {
		if m := fieldInError.FindStringSubmatch(err.Error()); m != nil && strings.HasSuffix(at.String(), m[1]) {
			return fmt.Sprintf("unknown field %q", at)
		}
		return err.Error()
	}
	expected := mappingInWords
	switch typ := strings.TrimPrefix(m[3], "*"); {
	case typ == "string", strings.HasSuffix(typ, ".Level"):
		expected = "text"
	case typ == "bool":
		expected = "true or false"
	case strings.HasPrefix(typ, "int"):
		expected = "a whole number"
	case strings.HasPrefix(typ, "[]"):
		expected = "a list"
	}
	found := map[string]string{"string": "text", "bool": "true or false", "array": "a list",
		"object": mappingInWords}[m[1]]
	if m[1] == "number" {
		found = "a number"
		if m[2] != "" {
			found = m[2]
		}
	}
	return fmt.Sprintf("%s: expected %s, found %s", at, expected, found)
}

// keyHint returns a hint for the key at the path of a type. For an unknown key, it is the new name of
// a renamed key (from the tag formerly, which can list several), the replacement of a removed one (from the tag
// instead), a similar key or all keys; for a value of another type, the form of the expected one.
func keyHint(t reflect.Type, path Path, found any) string {
	var tag reflect.StructTag
	for _, step := range path {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
			continue
		}
		name, _ := step.(string)
		if t.Kind() != reflect.Struct {
			return ""
		}
		if hint := instead(t, name); hint != "" {
			return hint
		}
		var next reflect.Type
		for _, field := range reflect.VisibleFields(t) {
			switch key := keyOf(field); {
			case key == name:
				next, tag = field.Type, field.Tag
			case !slices.Contains(strings.Fields(field.Tag.Get("formerly")), name):
			default:
				return fmt.Sprintf("%s is called %s now", name, key)
			}
		}
		if next == nil {
			known := keysOf(t)
			if hint := Nearest(name, known); hint != "" {
				return hint
			}
			return "the keys are " + strings.Join(known, ", ")
		}
		t = next
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return valueHint(t, tag, found)
}

// instead returns the replacement of a removed key of a struct, or "". Of several fields without a name,
// [reflect.VisibleFields] has one.
func instead(t reflect.Type, name string) string {
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Name == "_" && slices.Contains(strings.Fields(field.Tag.Get("formerly")), name) {
			return field.Tag.Get("instead")
		}
		if field.Anonymous && field.Type.Kind() == reflect.Struct {
			if hint := instead(field.Type, name); hint != "" {
				return hint
			}
		}
	}
	return ""
}

func keysOf(t reflect.Type) []string {
	var known []string
	for _, field := range reflect.VisibleFields(t) {
		if key := keyOf(field); key != "" && key != "-" {
			known = append(known, key)
		}
	}
	return known
}

// keyOf returns the key of a field: its tag json without options such as omitempty.
func keyOf(field reflect.StructField) string {
	key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return key
}

// valueHint returns a hint for a value of another type than t.
func valueHint(t reflect.Type, tag reflect.StructTag, found any) string {
	kind := jsonKind(found)
	scalar := kind != "array" && kind != "object"
	switch t.Kind() {
	case reflect.String:
		switch {
		case tag.Get("form") != "" && kind == "object":
			return "write " + filled(tag.Get("form"), found)
		case tag.Get("enum") != "":
			return "write one of " + strings.Join(strings.Fields(tag.Get("enum")), ", ")
		case tag.Get("format") == "duration" && kind == "number":
			return fmt.Sprintf("write it with a unit, such as %vd", found)
		case scalar:
			return "put it in quotes"
		}
	case reflect.Bool:
		return "write true or false, without quotes"
	case reflect.Int, reflect.Int64:
		if text, _ := found.(string); text != "" && strings.Trim(text, "0123456789") == "" {
			return "remove the quotes"
		}
	case reflect.Slice:
		if scalar {
			return fmt.Sprintf("write it as a list: [%v]", found)
		}
		return "begin each item with a dash"
	case reflect.Struct:
		return "the keys are " + strings.Join(keysOf(t), ", ")
	}
	return ""
}

// filled returns a form with the values of a mapping in place of {key}.
func filled(form string, mapping any) string {
	values, _ := mapping.(map[string]any)
	for key, value := range values {
		form = strings.ReplaceAll(form, "{"+key+"}", fmt.Sprint(value))
	}
	return form
}

var (
	fieldInError = regexp.MustCompile(`(?:unknown field "|into Go struct field \w*\.)([^" ]+)`)
	typeInError  = regexp.MustCompile(
		`^json: cannot unmarshal (\w+)(?: (\S+))? into Go (?:struct field \S+|value) of type (\S+)$`)
	pathStep = regexp.MustCompile(`[^.\[\]]+|\[\d+\]`)
)

// dottedPath reads a path in the form of the strict decoder's errors, a.b[0].c.
func dottedPath(dotted string) Path {
	var path Path
	for _, step := range pathStep.FindAllString(dotted, -1) {
		if index, err := strconv.Atoi(strings.Trim(step, "[]")); err == nil && strings.HasPrefix(step, "[") {
			path = append(path, index)
			continue
		}
		path = append(path, step)
	}
	return path
}
