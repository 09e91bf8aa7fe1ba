package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/polex-dev/polex/pkg/exception"
)

// Readable writes an exception for people: keys in reading order, short lists on one line,
// multi-line texts on several lines. The same object always gives the same text. Readable parses
// the text again, and returns an error if the object differs. Values are those of [exception.FromObject]
// without floats. [exception.Canonical] writes the form that is signed.
func Readable(object map[string]any) ([]byte, error) {
	tree, err := readable(object)
	if err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := errors.Join(enc.Encode(tree), enc.Close()); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	back, err := exception.Parse(b.Bytes(), "")
	if err != nil {
		return nil, fmt.Errorf("write YAML: the written text cannot be read back: %w", err)
	}
	if !reflect.DeepEqual(back.Object(), object) {
		return nil, errors.New("write YAML: it would read back differently")
	}
	return b.Bytes(), nil
}

// readingOrder is the usual order of keys in an exception. Other keys follow in alphabetical order.
var readingOrder = []string{"apiVersion", "kind", "metadata", "spec", "name", "namespace", "labels", "annotations",
	"policyName", "ruleNames", "exceptions", "policyRefs", "matchConditions", "match", "any", "resources", "kinds",
	"names", "namespaces", "podSecurity", "controlName", "images", "expression", "expiresAt", "properties"}

// readable returns the tree of a value, with the style of each part.
func readable(value any) (*yaml.Node, error) {
	switch v := value.(type) {
	case map[string]any:
		return readableMapping(v)
	case []any:
		return readableList(v)
	case string:
		return readableText(v), nil
	case bool, int64:
		var n yaml.Node
		return &n, n.Encode(v)
	default:
		return nil, fmt.Errorf("a value of type %T is not written", value)
	}
}

func readableMapping(object map[string]any) (*yaml.Node, error) {
	if len(object) == 0 {
		return nil, errors.New("an empty mapping has no lines")
	}
	keys := slices.Sorted(maps.Keys(object))
	slices.SortStableFunc(keys, func(x, y string) int { return readingRank(x) - readingRank(y) })
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, key := range keys {
		value, err := readable(object[key])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		n.Content = append(n.Content, readableText(key), value)
	}
	return n, nil
}

const longestFlow = 120 // bytes

// readableList writes a list of values on one line, if it fits.
func readableList(items []any) (*yaml.Node, error) {
	n, length := &yaml.Node{Kind: yaml.SequenceNode}, 0
	for _, item := range items {
		value, err := readable(item)
		if err != nil {
			return nil, err
		}
		if length += len(value.Value) + len(", "); value.Kind != yaml.ScalarNode || value.Style == yaml.LiteralStyle {
			length = longestFlow + 1
		}
		n.Content = append(n.Content, value)
	}
	if length <= longestFlow {
		n.Style = yaml.FlowStyle
	}
	return n, nil
}

func readingRank(key string) int {
	if at := slices.Index(readingOrder, key); at >= 0 {
		return at
	}
	return len(readingOrder)
}

var (
	plainWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9./-]*$`)
	plainLine = regexp.MustCompile(`^[\x20-\x7e]+$`)
)

// notPlain lists words that some YAML readers read as a value of another type.
var notPlain = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// readableText writes a text plain if every reader reads it as this text, over several lines if it has some and
// nothing must be escaped, otherwise in double quotes.
func readableText(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Style: yaml.DoubleQuotedStyle}
	lines := strings.Split(text, "\n")
	switch {
	case plainWord.MatchString(text) && !slices.Contains(notPlain, strings.ToLower(text)):
		n.Style = 0
	case len(lines) > 1 && !strings.HasPrefix(text, " ") &&
		!slices.ContainsFunc(lines, func(l string) bool { return !plainLine.MatchString(l) }):
		n.Style = yaml.LiteralStyle
	}
	return n
}

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
