package adopt

import (
	"fmt"
	"reflect"

	"sigs.k8s.io/kustomize/kyaml/comments"
	"sigs.k8s.io/kustomize/kyaml/order"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
)

// write writes an exception with the comments and field order of its source, if it has one.
func write(source []byte, object map[string]any) ([]byte, error) {
	content, err := manifest.Readable(object)
	if err != nil {
		content, err = exception.Canonical(object)
	}
	if err != nil {
		return nil, fmt.Errorf("write it: %w", err)
	}
	if commented, err := like(source, content); err == nil {
		if doc, err := exception.Parse(commented, ""); err == nil && reflect.DeepEqual(doc.Object(), object) {
			return commented, nil
		}
	}
	return content, nil
}

// like returns content with the comments and field order of a source.
func like(source, content []byte) ([]byte, error) {
	from, err := yaml.Parse(string(source))
	if err != nil {
		return nil, err
	}
	to, err := yaml.Parse(string(content))
	if err != nil {
		return nil, err
	}
	if err := order.SyncOrder(from, to); err != nil {
		return nil, err
	}
	if err := comments.CopyComments(from, to); err != nil {
		return nil, err
	}
	block(to.YNode())
	return yaml.MarshalWithOptions(to.Document(), &yaml.EncoderOptions{SeqIndent: yaml.WideSequenceStyle})
}

// block writes a list with comments with one entry a line, and reports whether the node has one.
func block(node *yaml.Node) (commented bool) {
	for _, in := range node.Content {
		commented = block(in) || commented
	}
	if commented {
		node.Style &^= yaml.FlowStyle
	}
	return commented || node.HeadComment+node.LineComment+node.FootComment != ""
}
