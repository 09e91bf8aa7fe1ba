package manifest

import (
	"bytes"
	"reflect"

	"github.com/polex-dev/polex/pkg/exception"
)

// Remove returns a document without the values at the paths, and without mappings that become empty. All other lines
// of the source stay. If the layout does not allow that, as in braces, comments are lost.
func Remove(doc *exception.Document, paths []exception.Path) (*exception.Document, error) {
	want := doc.Object()
	for _, path := range paths {
		path.Remove(want)
	}
	lines := bytes.SplitAfter(doc.Source(), []byte("\n"))
	for _, path := range paths {
		above, left := path[:len(path)-1], want
		for _, step := range above {
			key, _ := step.(string)
			left, _ = left[key].(map[string]any)
		}
		if left == nil {
			path = above
		}
		cut(lines, doc, path)
	}
	return rewritten(bytes.Join(lines, nil), want, doc)
}

// RewriteConditions returns an exception with other match conditions, or the same document. Comments stay if the
// source has each condition as one text.
func RewriteConditions(doc *exception.Document, rewrite func(string) string) (*exception.Document, error) {
	want, source := doc.Object(), doc.Source()
	spec, _ := want["spec"].(map[string]any)
	items, _ := spec["matchConditions"].([]any)
	for _, item := range items {
		condition, _ := item.(map[string]any)
		if old, _ := condition["expression"].(string); old != "" && rewrite(old) != old {
			condition["expression"] = rewrite(old)
			source = bytes.Replace(source, []byte(old), []byte(rewrite(old)), 1)
		}
	}
	if bytes.Equal(source, doc.Source()) && reflect.DeepEqual(want, doc.Object()) {
		return doc, nil
	}
	return rewritten(source, want, doc)
}

// rewritten returns the edited source if it has the wanted values, and those values anew otherwise.
func rewritten(source []byte, want map[string]any, doc *exception.Document) (*exception.Document, error) {
	edited, err := exception.Parse(source, doc.File())
	if err == nil && reflect.DeepEqual(edited.Object(), want) {
		return edited, nil
	}
	if source, err = Readable(want); err != nil {
		return nil, err
	}
	return exception.Parse(source, doc.File())
}

// cut empties the lines of a value in block style: those of its key and the deeper ones below, and for a list also
// those that begin with a dash below the key.
func cut(lines [][]byte, doc *exception.Document, path exception.Path) {
	at := doc.PositionOf(path)
	value, _ := doc.Lookup(path...)
	_, isList := value.([]any)
	first := at.Line - doc.SourcePosition().Line
	for i := first; i >= 0 && i < len(lines); i++ {
		text, least := bytes.TrimLeft(lines[i], " "), at.Column
		if isList && bytes.HasPrefix(text, []byte("-")) {
			least--
		}
		if i > first && len(bytes.TrimSpace(text)) > 0 && len(lines[i])-len(text) < least {
			return
		}
		lines[i] = nil
	}
}
