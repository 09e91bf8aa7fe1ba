package adopt

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/polex-dev/polex/pkg/exception"
)

// write writes an exception: the text of its source with what its form adds, or, where the
// form differs otherwise, the whole anew. rewritten says why.
func write(source []byte, object map[string]any, file string) (content []byte, rewritten string, err error) {
	source = trim(source)
	if source == nil {
		rewritten = "it was an item of a list"
	} else if doc, err := exception.Parse(source, ""); err != nil {
		rewritten = "its text is not strict YAML"
		if syntax := new(exception.SyntaxError); errors.As(err, &syntax) {
			rewritten += ": " + syntax.Message
		}
	} else if doc.JSON() {
		rewritten = "it was JSON"
	} else if additions, ok := added(doc.Object(), object, nil); !ok {
		rewritten = "the deployed form differs from its text"
	} else if doc, err = doc.Add(additions...); err != nil {
		rewritten = "its text cannot be added to: " + err.Error()
	} else if reflect.DeepEqual(doc.Object(), object) {
		return doc.Source(), "", nil
	}
	if content, err = exception.Readable(object); err != nil {
		content, err = exception.Canonical(object)
	}
	if err == nil {
		_, err = exception.Parse(content, file)
	}
	if err != nil {
		return nil, "", fmt.Errorf("write it: %w", err)
	}
	return content, rewritten, nil
}

// trim removes the separator and blank lines around a document, and ends its last line.
func trim(source []byte) []byte {
	if source == nil {
		return nil
	}
	if bytes.HasPrefix(source, []byte("---")) {
		_, source, _ = bytes.Cut(source, []byte("\n"))
	}
	source = bytes.TrimRight(bytes.TrimLeft(source, "\r\n"), " \t\r\n")
	return append(bytes.Clone(source), '\n')
}

// added returns the texts that one mapping has beyond another, or false where the two
// differ otherwise.
func added(before, after map[string]any, path exception.Path) (additions []exception.Addition, ok bool) {
	for name, value := range before {
		if _, there := after[name]; !there {
			return nil, false
		}
		old, isMapping := value.(map[string]any)
		now, stays := after[name].(map[string]any)
		if isMapping && stays {
			more, ok := added(old, now, append(slices.Clone(path), name))
			if !ok {
				return nil, false
			}
			additions = append(additions, more...)
		} else if !reflect.DeepEqual(value, after[name]) {
			return nil, false
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, there := before[name]; there {
			continue
		}
		more, ok := leaves(after[name], append(slices.Clone(path), name))
		if !ok {
			return nil, false
		}
		additions = append(additions, more...)
	}
	return additions, true
}

// leaves returns the texts of a value, which is a text or a mapping of texts.
func leaves(value any, path exception.Path) ([]exception.Addition, bool) {
	switch value := value.(type) {
	case string:
		return []exception.Addition{{Path: path, Value: value}}, true
	case map[string]any:
		return added(nil, value, path)
	default:
		return nil, false
	}
}
