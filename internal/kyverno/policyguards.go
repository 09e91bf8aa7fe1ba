package kyverno

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
)

// guardingRule describes the first rule that applies to PolicyExceptions, or returns "".
func guardingRule(rules []ruleTree) string {
	for _, r := range rules {
		for _, group := range exceptionGroups {
			if !r.match.coversException(group) || r.leavesOutExceptions(group) {
				continue
			}
			name, _ := r.tree["name"].(string)
			if r.under("validate")["manifests"] != nil {
				return fmt.Sprintf("its rule %q checks signatures of PolicyExceptions", name)
			}
			return fmt.Sprintf("its rule %q matches PolicyException", name)
		}
	}
	return ""
}

// coversException reports whether the match of a rule can select PolicyExceptions of a group. A
// filter without kinds does not: Kyverno registers no webhook for it.
func (m Match) coversException(group string) bool {
	covers := func(f Filter) bool {
		return slices.ContainsFunc(f.Kinds,
			func(kind Located) bool { return ParseKind(kind.Text).Covers(exception.Kind, group) })
	}
	leavesOut := func(f Filter) bool { return len(f.Kinds) > 0 && !covers(f) }
	return covers(*m.Plain) || slices.ContainsFunc(m.Any, covers) ||
		slices.ContainsFunc(m.All, covers) && !slices.ContainsFunc(m.All, leavesOut)
}

// leavesOutExceptions reports whether the exclude of a rule selects every PolicyException of a
// group: by kinds in any version, and by nothing else.
func (r ruleTree) leavesOutExceptions(group string) bool {
	block := r.under("exclude")
	filters, _ := block["any"].([]any)
	if len(filters) == 0 {
		filters = []any{block}
	}
	for _, item := range filters {
		filter, _ := item.(map[string]any)
		resources, _ := filter["resources"].(map[string]any)
		if len(filter) != 1 || len(resources) != 1 {
			continue
		}
		for _, kind := range manifest.Words(resources["kinds"]) {
			if k := ParseKind(kind); k.Version == "*" && (k.Subresource == "" || k.Subresource == "*") &&
				(k.Group == "*" || k.Group == group) && k.Kind == exception.Kind {
				return true
			}
		}
	}
	return false
}

// constrainsExceptions reports whether matchConstraints can select PolicyExceptions.
func constrainsExceptions(constraints map[string]any) bool {
	rules, _ := constraints["resourceRules"].([]any)
	excluded, _ := constraints["excludeResourceRules"].([]any)
	for _, group := range exceptionGroups {
		takes := func(item any) bool { return takesExceptions(item, group) }
		if slices.ContainsFunc(rules, takes) &&
			!slices.ContainsFunc(excluded, func(item any) bool { return takes(item) && takesAll(item) }) {
			return true
		}
	}
	return false
}

func takesExceptions(item any, group string) bool {
	rule, _ := item.(map[string]any)
	groups := manifest.Words(rule["apiGroups"])
	return (slices.Contains(groups, "*") || slices.Contains(groups, group)) &&
		slices.ContainsFunc(manifest.Words(rule["resources"]), func(resource string) bool {
			name, _, _ := strings.Cut(resource, "/")
			return name == "*" || strings.EqualFold(name, "policyexceptions")
		})
}

// takesAll reports whether a resource rule selects all exceptions of its groups.
func takesAll(item any) bool {
	rule, _ := item.(map[string]any)
	operations := manifest.Words(rule["operations"])
	return rule["resourceNames"] == nil && rule["scope"] == nil &&
		slices.Contains(manifest.Words(rule["apiVersions"]), "*") &&
		(slices.Contains(operations, "*") || slices.Contains(operations, "CREATE") &&
			slices.Contains(operations, "UPDATE")) &&
		slices.ContainsFunc(manifest.Words(rule["resources"]), func(resource string) bool {
			return resource == "*" || resource == "*/*" || resource == "policyexceptions"
		})
}
