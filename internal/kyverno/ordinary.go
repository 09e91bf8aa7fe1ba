package kyverno

import (
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// An ordinary policy cannot match PolicyExceptions or Namespaces. An exception from only ordinary
// policies exempts none of these, with any match conditions. The whole match of an ordinary policy
// can be read. It lists kinds or resources in plain texts, and none of them matches PolicyException
// or Namespace. Its exclude makes no difference.

// plain matches a literal text of a match: it contains no variable of Kyverno, Flux or Helm.
var plain = regexp.MustCompile(`^[A-Za-z0-9.*?/-]*$`)

func isOrdinary(rules []ruleTree) bool {
	return len(rules) > 0 && !slices.ContainsFunc(rules,
		func(r ruleTree) bool { return !r.isRead || !r.match.isOrdinary() })
}

func (m Match) isOrdinary() bool {
	spares := func(f Filter) bool { return len(f.Kinds) > 0 && !slices.ContainsFunc(f.Kinds, isGuardedKind) }
	return (len(m.Any)+len(m.All) > 0 || !m.Plain.Empty()) &&
		!slices.ContainsFunc(m.Any, func(f Filter) bool { return !spares(f) }) &&
		(len(m.All) == 0 || slices.ContainsFunc(m.All, spares)) && (m.Plain.Empty() || spares(*m.Plain))
}

func isGuardedKind(kind Located) bool {
	return kind.Text == "" || !plain.MatchString(kind.Text) || meansException(kind.Text) ||
		ParseKind(kind.Text).Covers("Namespace", "")
}

// isOrdinarySpec is isOrdinary for the resources that a policy of policies.kyverno.io matches or
// changes.
func isOrdinarySpec(spec map[string]any) bool {
	for _, field := range []string{"matchConstraints", "targetMatchConstraints"} {
		if spec[field] == nil && field == "targetMatchConstraints" {
			continue
		}
		constraints, _ := spec[field].(map[string]any)
		if rules, _ := constraints["resourceRules"].([]any); len(rules) == 0 ||
			slices.ContainsFunc(rules, mayTakeGuarded) {
			return false
		}
	}
	return true
}

func mayTakeGuarded(item any) bool {
	rule, _ := item.(map[string]any)
	for _, field := range []string{"apiGroups", "resources"} {
		texts := manifest.Words(rule[field])
		if items, _ := rule[field].([]any); len(texts) == 0 || len(texts) < len(items) ||
			slices.ContainsFunc(texts, func(text string) bool { return !plain.MatchString(text) }) {
			return true // it cannot be read
		}
	}
	fits := func(field string, names ...string) bool {
		return slices.ContainsFunc(manifest.Words(rule[field]), func(text string) bool {
			name, _, _ := strings.Cut(text, "/") // of a subresource
			_, found := wildcard.OverlapsAny(name, names)
			return found
		})
	}
	return fits("apiGroups", exceptionGroups...) && fits("resources", "policyexceptions") ||
		fits("apiGroups", "") && fits("resources", "namespaces")
}

// namesKyverno reports whether a text of a policy contains or matches a name of Kyverno or polex: a
// namespace, kind or image.
func namesKyverno(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			if namesKyverno(key) || namesKyverno(item) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, namesKyverno)
	case string:
		text := strings.ToLower(v)
		return strings.Contains(text, "kyverno") || strings.Contains(text, "polex") ||
			wildcard.In(text) && !wildcard.Only(text) && wildcard.Overlap(text, kyvernoNamespace)
	}
	return false
}

// isOrdinary reports whether a reference reaches only known, ordinary policies. A policy of a
// Namespaced kind can have that name in any namespace, and not all of these are known. A policy
// that is guarded by name is rejected earlier.
func (g Guard) isOrdinary(ref Ref) bool {
	return g.known != nil && !g.known.Incomplete && !g.known.Proposed && len(g.known.Find(ref)) > 0 &&
		!ref.Namespaced() &&
		!slices.ContainsFunc(g.known.Reached(ref), func(p *Policy) bool { return !p.Ordinary })
}
