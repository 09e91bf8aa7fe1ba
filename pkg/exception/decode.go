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
			if _, there := d.Lookup(append(slices.Concat(path, below), step)...); there {
				below = append(below, step)
			}
		}
	}
	at := Path(append(slices.Clone(path), below...))
	return &SyntaxError{Position: d.PositionOf(at), Message: decodeMessage(err, at), Hint: keyHint(reflect.TypeOf(into), below)}
}

// decodeMessage returns a message without Go's types.
func decodeMessage(err error, at Path) string {
	m := typeInError.FindStringSubmatch(err.Error())
	if m == nil {
		return err.Error()
	}
	expected := "a mapping"
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
	found := map[string]string{"string": "text", "bool": "true or false", "array": "a list", "object": "a mapping"}[m[1]]
	if m[1] == "number" {
		found = "a number"
		if m[2] != "" {
			found = m[2]
		}
	}
	return fmt.Sprintf("%s: expected %s, found %s", at, expected, found)
}

// keyHint returns a hint for an unknown key: the new name of a renamed key (from the tag formerly),
// or a similar key. It is "" for a known key.
func keyHint(t reflect.Type, path Path) string {
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
		var known []string
		var found reflect.Type
		for _, field := range reflect.VisibleFields(t) {
			key := field.Tag.Get("json")
			switch {
			case key == name:
				found = field.Type
			case key != "" && field.Tag.Get("formerly") == name:
				return fmt.Sprintf("%s is called %s now", name, key)
			}
			known = append(known, key)
		}
		if found == nil {
			return Nearest(name, known)
		}
		t = found
	}
	return ""
}

var (
	fieldInError = regexp.MustCompile(`(?:unknown field "|into Go struct field \w*\.)([^" ]+)`)
	typeInError  = regexp.MustCompile(`^json: cannot unmarshal (\w+)(?: (\S+))? into Go (?:struct field \S+|value) of type (\S+)$`)
	pathStep     = regexp.MustCompile(`[^.\[\]]+|\[\d+\]`)
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
