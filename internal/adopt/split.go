package adopt

import (
	"bytes"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
)

// maxNodes is the maximum number of values in a document. It is high because a list of all
// exceptions of a cluster is one document.
const maxNodes = 2_000_000

// chunk is the text of one document with its separator line. The chunks of a file together are the
// whole file.
type chunk struct {
	line int // from 1
	text []byte
}

// split cuts a file at the same lines as Kubernetes' splitter.
func split(content []byte) []chunk {
	var chunks []chunk
	number := 0
	for line := range bytes.Lines(content) {
		number++
		if len(chunks) == 0 || bytes.HasPrefix(line, []byte("---")) {
			chunks = append(chunks, chunk{line: number})
		}
		last := &chunks[len(chunks)-1]
		last.text = append(last.text, line...)
	}
	return chunks
}

// object parses a document as kubectl does. It returns nil for a document with only comments.
func object(text []byte) (map[string]any, error) {
	if exception.TooManyNodes(text, maxNodes) {
		return nil, fmt.Errorf("the document has more than %d values", maxNodes)
	}
	if err := checkAliases(text); err != nil {
		return nil, err
	}
	raw, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	var value map[string]any
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, errors.New("the document is not a mapping")
	}
	return value, nil
}

// items returns the items of a list, or nil if the object is not a list.
func items(object map[string]any) []map[string]any {
	list, ok := object["items"].([]any)
	if !ok {
		return nil
	}
	all := make([]map[string]any, len(list))
	for i, item := range list {
		all[i], _ = item.(map[string]any)
	}
	return all
}

// at returns the value at a path of keys, or nil.
func at(object map[string]any, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...) //nolint:errcheck // another type is not there
	return value
}

func text(object map[string]any, path ...string) string {
	s, _ := at(object, path...).(string)
	return s
}

func mapping(object map[string]any, path ...string) map[string]any {
	m, _ := at(object, path...).(map[string]any)
	return m
}

// list returns the mappings in a list.
func list(object map[string]any, path ...string) []map[string]any {
	return items(map[string]any{"items": at(object, path...)})
}
