package translate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// document writes the new form, and proves that it reads as what was meant.
func (t *translator) document(condition string) ([]byte, error) {
	metadata, _ := t.Tree["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	properties := map[string]any{}
	for property, annotation := range statementsOf {
		if text, _ := annotations[annotation].(string); text != "" {
			properties[property] = text
			delete(annotations, annotation)
		}
	}
	expiresAt, _ := annotations[exception.AnnotationExpiresAt].(string)
	delete(annotations, exception.AnnotationExpiresAt)
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}

	refs := make([]any, len(t.refs))
	for i, ref := range t.refs {
		refs[i] = map[string]any{"name": ref.Name, "kind": ref.Kind}
	}
	spec := map[string]any{"policyRefs": refs, "matchConditions": []any{map[string]any{"name": "match", "expression": condition}}}
	if expiresAt != "" {
		spec["expiresAt"] = expiresAt
	}
	if len(properties) > 0 {
		spec["properties"] = properties
	}
	object := map[string]any{"apiVersion": exception.PoliciesGroup + "/v1", "kind": exception.Kind, "metadata": metadata, "spec": spec}

	var b bytes.Buffer
	writeYAML(&b, object, "")
	doc, err := exception.Parse(b.Bytes(), t.Doc.File())
	if err != nil {
		return nil, fmt.Errorf("read the translation: %w", err)
	}
	if !reflect.DeepEqual(doc.Object(), object) {
		return nil, fmt.Errorf("%s: the translation does not read as it is meant", t.Doc.Position())
	}
	if problems := exception.CheckSchema(doc); len(problems) > 0 {
		return nil, fmt.Errorf("%s: in the translation, %s", t.Doc.Position(), problems[0].Message)
	}
	return b.Bytes(), nil
}

// order is how people write the keys of an exception. Others follow by name.
var order = []string{"apiVersion", "kind", "metadata", "spec", "name", "namespace", "labels", "annotations", "policyRefs", "matchConditions", "expression", "expiresAt", "properties"}

// writeYAML writes a mapping whose first line is indented already.
func writeYAML(b *bytes.Buffer, object map[string]any, indent string) {
	keys := slices.Sorted(maps.Keys(object))
	slices.SortStableFunc(keys, func(x, y string) int { return rank(x) - rank(y) })
	for i, key := range keys {
		if i > 0 {
			b.WriteString(indent)
		}
		b.WriteString(yamlText(key, indent) + ":")
		switch v := object[key].(type) {
		case map[string]any:
			b.WriteString("\n" + indent + "  ")
			writeYAML(b, v, indent+"  ")
		case []any:
			b.WriteString("\n")
			for _, item := range v {
				b.WriteString(indent + "- ")
				if entry, isObject := item.(map[string]any); isObject {
					writeYAML(b, entry, indent+"  ")
				}
			}
		case string:
			b.WriteString(" " + yamlText(v, indent+"  ") + "\n")
		}
	}
}

func rank(key string) int {
	if at := slices.Index(order, key); at >= 0 {
		return at
	}
	return len(order)
}

var (
	plainWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9./-]*$`)
	plainLine = regexp.MustCompile(`^[\x20-\x7e]+$`)
)

// notPlain are words that some reader of YAML takes for a value of another type.
var notPlain = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// yamlText writes a text: plain where every reader takes it for this text, over
// several lines where it has them and nothing that must be escaped, and as a
// JSON string otherwise.
func yamlText(text, indent string) string {
	if plainWord.MatchString(text) && !slices.Contains(notPlain, strings.ToLower(text)) {
		return text
	}
	if lines := strings.Split(text, "\n"); len(lines) > 1 && !strings.HasPrefix(text, " ") && !slices.ContainsFunc(lines, func(l string) bool { return !plainLine.MatchString(l) }) {
		return "|-\n" + indent + strings.Join(lines, "\n"+indent)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a text always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
