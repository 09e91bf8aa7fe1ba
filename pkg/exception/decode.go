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

// Decode fills into, a pointer to a struct with json tags, from the value at
// path. Keys are matched exactly, case included; a key that the struct does not
// know or a value of another type is a *[SyntaxError] at its place, with a hint at the
// key that is likely to be meant. Nothing at
// path leaves into as it is.
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
			// The decoder names structs that are embedded, too.
			if _, there := d.Lookup(append(slices.Concat(path, below), step)...); there {
				below = append(below, step)
			}
		}
	}
	at := Path(append(slices.Clone(path), below...))
	return &SyntaxError{Position: d.PositionOf(at), Message: err.Error(), Hint: keyHint(reflect.TypeOf(into), below)}
}

// keyHint returns what a key that a struct does not know is likely to be: a key that was
// renamed, which the tag formerly says, or the nearest one. It is "" for a key that the
// struct knows.
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
	pathStep     = regexp.MustCompile(`[^.\[\]]+|\[\d+\]`)
)

// dottedPath reads the path of the strict decoder's errors, a.b[0].c.
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
