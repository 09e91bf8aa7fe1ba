package exception

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// agree rejects a chunk that kubectl, client-go, Argo CD and Flux read as another object than root.
// Otherwise a reviewer, the signer and the cluster could see different objects in the same bytes.
// root is nil if the chunk has no document.
//
// The second reader is the code of those tools: sigs.k8s.io/yaml, strict, behind apimachinery's
// document splitter. Both readers produce JSON values, and all values must be equal. So a
// difference that is not known yet is a rejection too.
func agree(root *node, chunk []byte, at Position, as layout) error {
	theirs, err := consumed(chunk, as)
	if err != nil {
		at.Line += lineOf(err) - 1
		return &SyntaxError{Position: Position{at.File, at.Line, 1},
			Message: fmt.Sprintf("kubectl cannot read this document: %v", err)}
	}
	if root == nil {
		if theirs == nil {
			return nil
		}
		return &SyntaxError{Position: Position{at.File, at.Line, 1},
			Message: "kubectl reads a document here, and polex reads none"}
	}
	d := difference(root, theirs)
	if d == nil {
		return nil
	}
	return &SyntaxError{Position: Position{at.File, max(d.at.line, at.Line), max(d.at.column, 1)},
		Message: "kubectl reads this " + d.what, Hint: d.hint}
}

// consumed returns the value that Kubernetes tools read in a chunk, or nil.
func consumed(chunk []byte, as layout) (any, error) {
	raw := chunk
	if !as.json {
		document, err := split(chunk)
		if err != nil || document == nil {
			return nil, err
		}
		toJSON := yaml.YAMLToJSONStrict
		if as.aliases {
			// The strict reader treats a key beside a merge key as a duplicate. parseYAML has
			// already rejected real duplicates.
			toJSON = yaml.YAMLToJSON
		}
		if raw, err = toJSON(document); err != nil {
			return nil, err
		}
	}
	var value any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &value); err != nil {
		return nil, err
	}
	return value, nil
}

// split returns the one document that apimachinery's splitter finds in a chunk. The splitter
// returns a comment above the first marker as a document; it is ignored.
func split(chunk []byte) ([]byte, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(chunk)))
	var last []byte
	for {
		document, err := reader.Read()
		switch {
		case errors.Is(err, io.EOF):
			return last, nil
		case err != nil:
			return nil, err
		case last != nil && !isBlank(last):
			return nil, errors.New("it holds a second document")
		}
		last = document
	}
}

// isBlank reports whether a document has only comments and blank lines.
func isBlank(document []byte) bool {
	for line := range bytes.Lines(document) {
		if line = bytes.TrimLeft(line, " \t\r\n"); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

var lineInError = regexp.MustCompile(`line (\d+)`)

// lineOf returns the line of a chunk in an error of the YAML library, from 1.
func lineOf(err error) int {
	if m := lineInError.FindStringSubmatch(err.Error()); m != nil {
		if line, convErr := strconv.Atoi(m[1]); convErr == nil && line > 0 {
			return line
		}
	}
	return 1
}

// disagreement is the first place where the two readers differ.
type disagreement struct {
	at   *node
	what string
	hint string
}

// difference compares a value of this package with kubectl's, and returns nil if both are the same
// JSON.
func difference(n *node, theirs any) *disagreement {
	switch n.kind {
	case mappingNode:
		mapping, ok := theirs.(map[string]any)
		if !ok {
			return &disagreement{at: n, what: "as " + inWords(theirs) + ", not as a mapping"}
		}
		for i := range n.entries {
			e := &n.entries[i]
			value, exists := mapping[e.key]
			if !exists {
				return &disagreement{at: &node{line: e.line, column: e.column},
					what: fmt.Sprintf("without the key %q", Shortened(e.key)), hint: "put the key in quotes"}
			}
			if d := difference(e.value, value); d != nil {
				return d
			}
		}
		if len(mapping) != len(n.entries) {
			return &disagreement{at: n, what: fmt.Sprintf("with %d keys, not %d", len(mapping), len(n.entries))}
		}
		return nil
	case sequenceNode:
		list, ok := theirs.([]any)
		if !ok || len(list) != len(n.items) {
			return &disagreement{at: n, what: "as " + inWords(theirs) + ", not as " +
				inWords(make([]any, len(n.items)))}
		}
		for i, item := range n.items {
			if d := difference(item, list[i]); d != nil {
				return d
			}
		}
		return nil
	default:
		if sameScalar(n.scalar, theirs) {
			return nil
		}
		return &disagreement{at: n, what: "as " + inWords(theirs) + ", not as " + inWords(n.scalar),
			hint: scalarHint(n.scalar, theirs)}
	}
}

// sameScalar reports whether two scalars are the same JSON. JSON writes a whole float as an
// integer.
func sameScalar(ours, theirs any) bool {
	switch v := ours.(type) {
	case float64:
		switch t := theirs.(type) {
		case float64:
			return v == t
		case int64:
			return v == float64(t)
		}
		return false
	case string, bool, int64, nil:
		switch theirs.(type) {
		case map[string]any, []any:
			return false
		}
		return ours == theirs
	default:
		return false
	}
}

func scalarHint(ours, theirs any) string {
	if ours == nil {
		return "write null"
	}
	_, text := ours.(string)
	if _, both := theirs.(string); text && both {
		return "write the text in double quotes on one line"
	}
	return "put it in quotes if it is text; write it in plain decimal, true or false if it is not"
}

// inWords describes a JSON value; text is quoted and shortened.
func inWords(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("the text %q", Shortened(v))
	case map[string]any:
		return fmt.Sprintf("a mapping of %d keys", len(v))
	case []any:
		return fmt.Sprintf("a list of %d items", len(v))
	case bool:
		return fmt.Sprintf("%t", v)
	default:
		return fmt.Sprintf("the number %v", v)
	}
}
