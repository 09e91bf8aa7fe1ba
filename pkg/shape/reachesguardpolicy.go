package shape

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/manifest"
)

var reachesGuardPolicyCheck = check{
	Title: "Reaches guard policy",
	About: `Finds an exception from a policy that is itself about PolicyExceptions, by whatever name:
whether it demands a signature, an expiry or a label, an exception from it would be an
exception from the check on exceptions. No setting permits it. A policy for every kind is
one too, unless it leaves PolicyExceptions out.`,
	Run: (*subject).reachesGuardPolicy,
}

func (s *subject) reachesGuardPolicy(time.Time) {
	if s.config.Policies == nil {
		return
	}
	field := s.policyField()
	for _, ref := range s.Exc.Policies {
		name := ref.Name[strings.LastIndex(ref.Name, "/")+1:]
		if _, found := s.guard.HasPolicy(name); found {
			continue // refused for its name already
		}
		for _, p := range s.config.Policies.guardsFor(s.Exc.Identity.Group, ref) {
			s.refuse(ReasonReachesGuard, ref.Path.With(field), fmt.Sprintf("the policy %q guards exceptions: %s", ref.Name, p.guard),
				"if the policy is not meant for exceptions, let it leave out PolicyException, in the open")
			break
		}
	}
}

func (s *subject) policyField() string {
	if s.Exc.Identity.Group == exception.PoliciesGroup {
		return "name"
	}
	return "policyName"
}

// guardsFor returns the guards that an exception would except from. Letter case
// does not count, nor does the kind: both are stricter than Kyverno.
func (set *PolicySet) guardsFor(group string, ref exception.PolicyRef) []*policy {
	name := strings.ToLower(ref.Name)
	if group == exception.KyvernoGroup {
		if namespace, bare, namespaced := strings.Cut(name, "/"); namespaced {
			return slices.DeleteFunc(slices.Clone(set.guards[bare]), func(p *policy) bool {
				return p.Group != group || p.Namespace != "" && strings.ToLower(p.Namespace) != namespace
			})
		}
	}
	return slices.DeleteFunc(slices.Clone(set.guards[name]), func(p *policy) bool { return p.Group != group })
}

// guards says how a policy is about PolicyExceptions, or "".
func guards(group string, spec map[string]any) string {
	if group == exception.PoliciesGroup {
		if constrainsExceptions(spec["matchConstraints"]) {
			return "its matchConstraints cover policyexceptions"
		}
		return ""
	}
	rules, _ := spec["rules"].([]any)
	for _, item := range rules {
		tree, _ := item.(map[string]any)
		name, _ := tree["name"].(string)
		validate, _ := tree["validate"].(map[string]any)
		for _, group := range exceptionGroups {
			if !matchesExceptions(tree["match"], group) || leavesOutExceptions(tree["exclude"], group) {
				continue
			}
			if validate["manifests"] != nil {
				return fmt.Sprintf("its rule %q checks signatures of PolicyExceptions", name)
			}
			return fmt.Sprintf("its rule %q matches PolicyException", name)
		}
	}
	return ""
}

var exceptionGroups = []string{exception.KyvernoGroup, exception.PoliciesGroup}

// matchesExceptions reports whether a rule's match can take PolicyExceptions of
// a group. A filter without kinds takes none: Kyverno registers no webhook for
// it.
func matchesExceptions(value any, group string) bool {
	covers := func(filter any) (covered, asked bool) {
		tree, _ := filter.(map[string]any)
		resources, _ := tree["resources"].(map[string]any)
		kinds := manifest.Words(resources["kinds"])
		return slices.ContainsFunc(kinds, func(kind string) bool {
			return kyverno.ParseKind(kind).Covers(exception.Kind, group)
		}), len(kinds) > 0
	}
	block, _ := value.(map[string]any)
	if covered, _ := covers(block); covered {
		return true
	}
	anyOf, _ := block["any"].([]any)
	if slices.ContainsFunc(anyOf, func(filter any) bool { covered, _ := covers(filter); return covered }) {
		return true
	}
	allOf, _ := block["all"].([]any)
	some := false
	for _, filter := range allOf {
		covered, asked := covers(filter)
		if asked && !covered {
			return false
		}
		some = some || covered
	}
	return some
}

// leavesOutExceptions reports whether a rule's exclude takes every
// PolicyException of a group: by kinds in any version, and by nothing else.
func leavesOutExceptions(value any, group string) bool {
	block, _ := value.(map[string]any)
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
			if k := kyverno.ParseKind(kind); k.Version == "*" && (k.Group == "*" || k.Group == group) && k.Kind == exception.Kind {
				return true
			}
		}
	}
	return false
}

// constrainsExceptions reports whether matchConstraints can take
// PolicyExceptions of either group.
func constrainsExceptions(value any) bool {
	constraints, _ := value.(map[string]any)
	rules, _ := constraints["resourceRules"].([]any)
	excluded, _ := constraints["excludeResourceRules"].([]any)
	for _, group := range exceptionGroups {
		takes := func(item any) bool { return takesExceptions(item, group) }
		if slices.ContainsFunc(rules, takes) && !slices.ContainsFunc(excluded, func(item any) bool { return takes(item) && takesAll(item) }) {
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

// takesAll reports whether a resource rule leaves out none of the exceptions of
// its groups.
func takesAll(item any) bool {
	rule, _ := item.(map[string]any)
	operations := manifest.Words(rule["operations"])
	return rule["resourceNames"] == nil && rule["scope"] == nil && slices.Contains(manifest.Words(rule["apiVersions"]), "*") &&
		(slices.Contains(operations, "*") || slices.Contains(operations, "CREATE") && slices.Contains(operations, "UPDATE")) &&
		slices.ContainsFunc(manifest.Words(rule["resources"]), func(resource string) bool {
			return resource == "*" || resource == "*/*" || resource == "policyexceptions"
		})
}
