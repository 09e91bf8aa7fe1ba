package kyverno

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
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

// resourceRule is a rule of matchConstraints.
type resourceRule struct {
	groups, versions, resources, operations []string
	isRead                                  bool // its groups and resources are plain texts
	isNarrowed                              bool // by names or a scope
}

// resourceRules returns the rules in a list of constraints, resourceRules or excludeResourceRules.
func resourceRules(constraints any, list string) []resourceRule {
	tree, _ := constraints.(map[string]any)
	items, _ := tree[list].([]any)
	rules := make([]resourceRule, len(items))
	for i, item := range items {
		rule, _ := item.(map[string]any)
		read := func(field string) []string { return manifest.Words(rule[field]) }
		isRead := func(field string) bool {
			entries, _ := rule[field].([]any)
			return len(entries) > 0 && !slices.ContainsFunc(entries, func(entry any) bool {
				text, is := entry.(string)
				return !is || !plain.MatchString(text)
			})
		}
		rules[i] = resourceRule{read("apiGroups"), read("apiVersions"), read("resources"), read("operations"),
			isRead("apiGroups") && isRead("resources"), rule["resourceNames"] != nil || rule["scope"] != nil}
	}
	return rules
}

// has reports whether one of the resources, without its subresource, fits.
func (r resourceRule) has(fits func(name string) bool) bool {
	return slices.ContainsFunc(r.resources, func(resource string) bool {
		name, _, _ := strings.Cut(resource, "/")
		return fits(name)
	})
}

// constrainsExceptions reports whether matchConstraints can select PolicyExceptions.
func constrainsExceptions(constraints any) bool {
	for _, group := range exceptionGroups {
		takes := func(r resourceRule) bool {
			return (slices.Contains(r.groups, "*") || slices.Contains(r.groups, group)) && r.has(
				func(name string) bool { return name == "*" || strings.EqualFold(name, "policyexceptions") })
		}
		if slices.ContainsFunc(resourceRules(constraints, "resourceRules"), takes) && !slices.ContainsFunc(
			resourceRules(constraints, "excludeResourceRules"),
			func(r resourceRule) bool { return takes(r) && r.takesAll() }) {
			return true
		}
	}
	return false
}

// takesAll reports whether a rule selects all exceptions of its groups.
func (r resourceRule) takesAll() bool {
	return !r.isNarrowed && slices.Contains(r.versions, "*") && (slices.Contains(r.operations, "*") ||
		slices.Contains(r.operations, "CREATE") && slices.Contains(r.operations, "UPDATE")) &&
		slices.ContainsFunc(r.resources, func(resource string) bool {
			return resource == "*" || resource == "*/*" || resource == "policyexceptions"
		})
}

// An ordinary policy cannot match PolicyExceptions or Namespaces. An exception from only ordinary policies exempts none
// of these, with any match conditions. The whole match of an ordinary policy can be read. It lists kinds or resources
// in plain texts, and none of them matches PolicyException or Namespace. Its exclude makes no difference.

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

// isOrdinarySpec is isOrdinary for the resources that a policy of policies.kyverno.io matches or changes.
func isOrdinarySpec(spec map[string]any) bool {
	for _, field := range []string{"matchConstraints", "targetMatchConstraints"} {
		rules := resourceRules(spec[field], "resourceRules")
		if isAbsent := spec[field] == nil && field == "targetMatchConstraints"; !isAbsent &&
			(len(rules) == 0 || slices.ContainsFunc(rules, resourceRule.mayTakeGuarded)) {
			return false
		}
	}
	return true
}

func (r resourceRule) mayTakeGuarded() bool {
	fits := func(groups []string, resource string) bool {
		return slices.ContainsFunc(groups, func(group string) bool {
			return slices.ContainsFunc(r.groups, func(g string) bool { return wildcard.Overlap(g, group) })
		}) && r.has(func(name string) bool { return wildcard.Overlap(name, resource) })
	}
	return !r.isRead || fits(exceptionGroups, "policyexceptions") || fits([]string{""}, "namespaces")
}

// namesKyverno reports whether a text of a policy contains or matches a name of Kyverno or polex.
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

// isOrdinary reports whether a reference reaches only known, ordinary policies. A policy of a Namespaced kind can have
// that name in any namespace, and not all of these are known. A policy that is guarded by name is rejected earlier.
func (g Guard) isOrdinary(ref Ref) bool {
	return g.known != nil && !g.known.Incomplete && !g.known.Proposed && len(g.known.Find(ref)) > 0 &&
		!ref.Namespaced() && !slices.ContainsFunc(g.known.Reached(ref), func(p *Policy) bool { return !p.Ordinary })
}
