package shape

import (
	"time"

	"github.com/google/cel-go/cel"

	"github.com/polex-dev/polex/internal/lifetime"
)

const (
	viewType   = "polex.Exception"
	policyType = "polex.Policy"
)

// viewStructures declares the view that rules have of an exception. It is a
// type of its own, so that the compiler finds a field that does not exist. Otherwise
// the rule would reject every exception.
func viewStructures() map[string]map[string]*cel.Type {
	text, texts := cel.StringType, cel.MapType(cel.StringType, cel.StringType)
	return map[string]map[string]*cel.Type{
		viewType: {
			"name": text, "namespace": text, "group": text, "version": text, "policies": cel.ListType(cel.ObjectType(policyType)),
			"reason": text, "ticket": text, "owner": text, "category": text, "expiresIn": text, "expiresAt": text,
			"labels": texts, "annotations": texts,
		},
		policyType: {"name": text, "kind": text, "rules": cel.ListType(text)},
	}
}

// view is the view that rules have of the exception.
func (s *subject) view() map[string]any {
	e := s.Said
	expiresAt := e.ExpiresAt.Text
	if life, err := lifetime.Of(s.Doc, s.config.Terms); err == nil && life.End.Text != expiresAt {
		expiresAt = life.ExpiresAt.UTC().Format(time.RFC3339)
	}
	policies := make([]any, len(s.Refs))
	for i, ref := range s.Refs {
		policies[i] = map[string]any{"name": ref.Name.Text, "kind": ref.Kind.Text, "rules": ref.RuleNames()}
	}
	return map[string]any{
		"name": e.Identity.Name, "namespace": e.Identity.Namespace, "group": e.Identity.Group, "version": e.Version, "policies": policies,
		"reason": e.Reason.Text, "ticket": e.Ticket.Text, "owner": e.Owner.Text, "category": e.Category.Text,
		"expiresIn": e.ExpiresIn.Text, "expiresAt": expiresAt,
		"labels": s.textsOf("labels"), "annotations": s.textsOf("annotations"),
	}
}

// textsOf returns the texts of a mapping in metadata. The schema check finds other
// values.
func (s *subject) textsOf(field string) map[string]any {
	value, _ := s.Doc.Lookup("metadata", field)
	tree, _ := value.(map[string]any)
	texts := make(map[string]any, len(tree))
	for key, value := range tree {
		if text, ok := value.(string); ok {
			texts[key] = text
		}
	}
	return texts
}
