package exception

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
)

// Decode fills into, a pointer to a struct with json tags, from the value at
// path. Keys are matched exactly, case included; a key that the struct does not
// know or a value of another type is a *[SyntaxError] at its place. Nothing at
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
	at := Path(path)
	if m := fieldInError.FindStringSubmatch(err.Error()); m != nil {
		at = append(at, dottedPath(m[1])...)
	}
	return &SyntaxError{Position: d.PositionOf(at), Message: err.Error()}
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
