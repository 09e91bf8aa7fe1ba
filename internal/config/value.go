package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
)

// checkValue checks a decoded value against the tags of its key. It rejects a key without a value,
// because the author may have intended a restriction.
func checkValue(doc *exception.Document, path exception.Path, value any, t reflect.Type, tag reflect.StructTag) error {
	problem, hint := "", ""
	switch v := value.(type) {
	case nil:
		problem, hint = " has no value", "remove the key, or give it a value"
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			below, tag := t, tag
			switch t.Kind() {
			case reflect.Struct:
				field, _ := Field(t, key)
				below, tag = field.Type, field.Tag
			case reflect.Map:
				below = t.Elem()
				if known := strings.Fields(tag.Get("keys")); len(known) > 0 && !slices.Contains(known, key) {
					return &exception.SyntaxError{Position: doc.PositionOf(path.With(key)),
						Message: fmt.Sprintf("unknown field %q", path.With(key)),
						Hint:    cmp.Or(exception.Nearest(key, known), "the keys are "+strings.Join(known, ", "))}
				}
			}
			if err := checkValue(doc, path.With(key), v[key], below, tag); err != nil {
				return err
			}
		}
	case []any:
		if t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		for i, item := range v {
			if err := checkValue(doc, path.With(i), item, t, tag); err != nil {
				return err
			}
		}
	case string:
		problem, hint = checkText(v, tag)
	case int64:
		least, most := limit(tag, "min"), limit(tag, "max")
		switch {
		case least != nil && v < *least:
			problem = fmt.Sprintf(" is %d, expected at least %d", v, *least)
		case most != nil && v > *most:
			problem = fmt.Sprintf(" is %d, expected at most %d", v, *most)
		}
	}
	if problem == "" {
		return nil
	}
	return &exception.SyntaxError{Position: doc.PositionOf(path), Message: path.String() + problem, Hint: hint}
}

// addressForm matches addresses that protect tokens and signatures with TLS. Loopback needs no TLS.
var addressForm = regexp.MustCompile(
	`^(https://[^\s/?#@]+|http://(127\.0\.0\.1|localhost|\[::1\])(:[0-9]*)?)(/[^\s?#]*)?$`)

func checkText(text string, tag reflect.StructTag) (problem, hint string) {
	if known := strings.Fields(tag.Get("enum")); len(known) > 0 && !slices.Contains(known, text) {
		return fmt.Sprintf(" is %q, expected one of %s", text, strings.Join(known, ", ")),
			exception.Nearest(text, known)
	}
	var err error
	switch tag.Get("format") {
	case "duration":
		_, err = lifetime.ParseDuration(text)
	case "key":
		err = lifetime.CheckKey(text)
	case "address":
		if !addressForm.MatchString(text) {
			return fmt.Sprintf(" is %q, expected an https address", text), "write it like https://sigstore.example.com"
		}
	}
	if err != nil {
		return ": " + err.Error(), ""
	}
	return "", ""
}

func limit(tag reflect.StructTag, name string) *int64 {
	n, err := strconv.ParseInt(tag.Get(name), 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// Field returns the field for a key of a struct, including fields of embedded structs.
func Field(t reflect.Type, key string) (reflect.StructField, bool) {
	for _, field := range reflect.VisibleFields(t) {
		if field.Tag.Get("json") == key {
			return field, true
		}
	}
	return reflect.StructField{}, false
}
