package translate

import (
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/schema"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

// document writes the new exception.
func (t *translator) document(condition string) ([]byte, error) {
	metadata, _ := t.doc.Object()["metadata"].(map[string]any)
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
	spec := map[string]any{"policyRefs": refs,
		"matchConditions": []any{map[string]any{"name": "match", "expression": condition}}}
	if expiresAt != "" {
		spec["expiresAt"] = expiresAt
	}
	if len(properties) > 0 {
		spec["properties"] = properties
	}
	object := map[string]any{"apiVersion": kyverno.APIVersion(kyverno.ConditionKind), "kind": exception.Kind,
		"metadata": metadata, "spec": spec}

	source, err := manifest.Readable(object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.doc.Position(), err)
	}
	doc, err := exception.Parse(source, t.doc.File())
	if err != nil {
		return nil, fmt.Errorf("read the translation: %w", err)
	}
	if problems := schema.Check(doc); len(problems) > 0 {
		return nil, fmt.Errorf("%s: in the translation, %s", t.doc.Position(), problems[0].Message)
	}
	return source, nil
}
