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
	edited, err := exception.Parse(bytes.Join(lines, nil), doc.File())
	if err == nil && reflect.DeepEqual(edited.Object(), want) {
		return edited, nil
	}
	source, err := Readable(want)
	if err != nil {
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
