package witness

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/polex-dev/polex/pkg/shape/internal/expression"
	"github.com/polex-dev/polex/pkg/shape/internal/manifest"
)

func requestFields() []string {
	return []string{"uid", "kind", "resource", "requestKind", "requestResource", "name", "namespace", "operation", "userInfo", "object", "oldObject", "dryRun", "options"}
}

func (s *scene) requestField(name string) (ref.Val, bool) {
	switch name {
	case "operation":
		s.read |= factOperation
		return types.String(s.facts.operation), true
	case "name":
		s.read |= factName
		return s.word(s.facts.name), true
	case "namespace":
		namespace := s.requestNamespace()
		return s.word(namespace), namespace != 0
	case "userInfo":
		s.read |= factSender
		return expression.Value(s.userInfo()), true
	case "object":
		return s.newObject(), true
	case "oldObject":
		return s.oldObject(), true
	case "kind", "requestKind":
		s.read |= factSpecies
		is := s.facts.species
		return expression.Value(map[string]any{"group": is.group, "version": is.version, "kind": is.kind}), true
	case "resource", "requestResource":
		s.read |= factSpecies
		is := s.facts.species
		return expression.Value(map[string]any{"group": is.group, "version": is.version, "resource": manifest.NameInURLs(is.kind)}), true
	case "uid":
		return types.String("6f4d3f52-9f38-4a0c-8a4e-2f7f6f1b9a34"), true
	case "dryRun":
		return types.False, true
	case "options":
		return types.NullValue, true
	}
	return nil, false
}

// requestNamespace is what the request is about, to an API server: of a
// Namespace, itself.
func (s *scene) requestNamespace() word {
	s.read |= factSpecies
	if s.facts.species == namespaceSpecies {
		s.read |= factName
		return s.facts.name
	}
	s.read |= factNamespace
	return s.facts.namespace
}

func (s *scene) namespaceObject() ref.Val {
	namespace := s.requestNamespace()
	if namespace == 0 {
		return types.NullValue
	}
	name := s.text(namespace)
	return expression.Value(map[string]any{
		"metadata": map[string]any{"name": name, "labels": map[string]any{manifest.LabelOfNamespace: name}},
		"spec":     map[string]any{"finalizers": []any{"kubernetes"}},
		"status":   map[string]any{"phase": "Active"},
	})
}

// userInfo says who asks.
func (s *scene) userInfo() map[string]any {
	nth := func(n word) string { return s.text(s.facts.sender.words + n) }
	if s.facts.sender.is == byServiceAccount {
		return map[string]any{
			"username": "system:serviceaccount:" + nth(0) + ":" + nth(1),
			"groups":   []any{"system:serviceaccounts", "system:serviceaccounts:" + nth(0), "system:authenticated"},
		}
	}
	return map[string]any{"username": nth(0) + "@" + nth(1) + domain, "groups": []any{nth(2), "system:authenticated"}}
}
