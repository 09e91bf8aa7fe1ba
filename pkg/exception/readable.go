package exception

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Readable writes an exception for people: keys in reading order, short lists on one line,
// multi-line texts on several lines. The same object always gives the same text. Readable parses
// the text again, and returns an error if the object differs. Values are those of [FromObject]
// without floats. [Canonical] writes the form that is signed.
func Readable(object map[string]any) ([]byte, error) {
	var b bytes.Buffer
	if err := writeMapping(&b, object, ""); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	back, err := Parse(b.Bytes(), "")
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
	"policyName", "ruleNames", "exceptions", "policyRefs", "matchConditions", "match", "any", "resources", "kinds", "names", "namespaces", "podSecurity",
	"controlName", "images", "expression", "expiresAt", "properties"}

// writeMapping writes a mapping. Its first line is indented already.
func writeMapping(b *bytes.Buffer, object map[string]any, indent string) error {
	if len(object) == 0 {
		return errors.New("an empty mapping has no lines")
	}
	keys := slices.Sorted(maps.Keys(object))
	slices.SortStableFunc(keys, func(x, y string) int { return readingRank(x) - readingRank(y) })
	for i, key := range keys {
		if i > 0 {
			b.WriteString(indent)
		}
		b.WriteString(yamlLine(key) + ":")
		if err := writeValue(b, object[key], indent); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// writeValue writes the text behind a key.
func writeValue(b *bytes.Buffer, value any, indent string) error {
	switch v := value.(type) {
	case map[string]any:
		b.WriteString("\n" + indent + "  ")
		return writeMapping(b, v, indent+"  ")
	case []any:
		if flow, short := flowList(v); short {
			b.WriteString(" " + flow + "\n")
			return nil
		}
		b.WriteString("\n")
		for _, item := range v {
			b.WriteString(indent + "-")
			if entry, isMapping := item.(map[string]any); isMapping {
				b.WriteString(" ")
				if err := writeMapping(b, entry, indent+"  "); err != nil {
					return err
				}
				continue
			}
			if err := writeValue(b, item, indent); err != nil {
				return err
			}
		}
		return nil
	case string:
		b.WriteString(" " + yamlText(v, indent+"  ") + "\n")
		return nil
	}
	line, err := scalarLine(value)
	b.WriteString(" " + line + "\n")
	return err
}

const longestFlow = 120 // bytes

// flowList writes a list of scalars on one line, if it fits.
func flowList(items []any) (text string, short bool) {
	lines := make([]string, len(items))
	for i, item := range items {
		line, err := scalarLine(item)
		if err != nil {
			return "", false
		}
		lines[i] = line
	}
	text = "[" + strings.Join(lines, ", ") + "]"
	return text, len(text) <= longestFlow
}

func scalarLine(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return yamlLine(v), nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	default:
		return "", fmt.Errorf("a value of type %T is not written", value)
	}
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

// yamlText writes a text like [yamlLine]. It writes a multi-line text over several lines if nothing
// must be escaped.
func yamlText(text, indent string) string {
	if lines := strings.Split(text, "\n"); len(lines) > 1 && !strings.HasPrefix(text, " ") && !slices.ContainsFunc(lines, func(l string) bool { return !plainLine.MatchString(l) }) {
		return "|-\n" + indent + strings.Join(lines, "\n"+indent)
	}
	return yamlLine(text)
}

// yamlLine writes a text on one line: plain if every reader reads it as this text, otherwise as a
// JSON string.
func yamlLine(text string) string {
	if plainWord.MatchString(text) && !slices.Contains(notPlain, strings.ToLower(text)) {
		return text
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a text always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
