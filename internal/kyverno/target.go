package kyverno

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// Target is what one rule of a policy is about, or a whole policy of policies.kyverno.io.
type Target struct {
	Policy  *Policy
	Rule    string     // the name; "" in policies.kyverno.io
	matched [][]Filter // alternatives: a resource has to match all filters of one
	// excluded are filters with lists of literals and patterns alone: a resource must match none of them.
	excluded []Filter
	// Operations are those of the match or of the rules of matchConstraints; nil: any.
	Operations []string
	deletes    bool // they include DELETE
}

// describe names the target for people.
func (t *Target) describe() string {
	name := strings.TrimPrefix(t.Policy.Namespace+"/"+t.Policy.Name, "/")
	if t.Rule == "" {
		return fmt.Sprintf("the policy %q", name)
	}
	return fmt.Sprintf("the rule %q of the policy %q", t.Rule, name)
}

// kinds returns the kinds that the target names without a pattern.
func (t *Target) kinds() (names []string) {
	for _, f := range slices.Concat(t.matched...) {
		for _, k := range f.Kinds {
			if kind := ParseKind(k.Text).Kind; kind != "" && !wildcard.In(kind) {
				names = append(names, kind)
			}
		}
	}
	return names
}

// Targets returns what the policy is about, as far as one of the patterns names its rule. In
// policies.kyverno.io there are no rules.
func (p *Policy) Targets(work *wildcard.Meter, rules []string) []Target {
	return slices.DeleteFunc(slices.Clone(p.targets),
		func(t Target) bool { return t.Rule != "" && !work.FitsAny(rules, t.Rule) })
}

// targets returns the targets of a rule: itself, and the rules that Kyverno generates from it.
func (r ruleTree) targets(p *Policy, rule Rule) []Target {
	matched := r.match.Alternatives()
	if existing, _ := r.under("mutate")["targets"].([]any); !r.isRead || len(existing) > 0 {
		matched = [][]Filter{{}}
	}
	for i := range matched {
		matched[i] = slices.Clone(matched[i])
		for j := range matched[i] {
			matched[i][j] = matched[i][j].known()
		}
		if p.Kind == namespacedPolicy && p.Namespace != "" {
			matched[i] = append(matched[i], Filter{Namespaces: []Located{{Text: p.Namespace}}})
		}
	}
	excluded := r.excluded()
	operations := operationsOf(matched)
	targets := []Target{{Policy: p, Rule: rule.Name, matched: matched, excluded: excluded, Operations: operations}}
	excluded = slices.DeleteFunc(slices.Clone(excluded), func(f Filter) bool { return len(f.Kinds) > 0 })
	forms := rule.Forms()
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		kinds := forms[name]
		if name == rule.Name {
			continue
		}
		made := Target{Policy: p, Rule: name, excluded: excluded, Operations: operations}
		for _, filters := range matched {
			filters = slices.Clone(filters)
			for i := range filters {
				filters[i].Kinds, filters[i].parsed = ofControllers(kinds), nil
				filters[i].selectors()
			}
			made.matched = append(made.matched, filters)
		}
		targets = append(targets, made)
	}
	return targets
}

// operationsOf returns the operations of which all alternatives require one, or nil.
func operationsOf(lists [][]Filter) (all []string) {
	for _, filters := range lists {
		i := slices.IndexFunc(filters, func(f Filter) bool { return len(f.Operations) > 0 })
		if i < 0 {
			return nil
		}
		all = append(all, Texts(filters[i].Operations)...)
	}
	return all
}

// excluded returns the filters of the exclude that polex compares: namespaces and names, and nothing else. Each of
// them excludes by itself.
func (r ruleTree) excluded() (all []Filter) {
	alone := r.exclude.Any
	if r.exclude.Plain != nil && len(r.exclude.Any)+len(r.exclude.All) == 0 {
		alone = []Filter{*r.exclude.Plain}
	}
	for _, f := range alone {
		if r.isRead && !f.OfSenders() && f.Selector == nil && f.NamespaceSelector == nil && f.Annotations == nil &&
			len(f.Operations)+len(f.Kinds) == 0 && len(f.Named())+len(f.Namespaces) > 0 &&
			!slices.ContainsFunc(slices.Concat(f.Named(), f.Namespaces), hasVariable) && f.Name.Text == "" {
			all = append(all, f)
		}
	}
	return all
}

// excludes returns the reason why a filter excludes all that some filters match, or nil.
func (f *Filter) excludes(work *wildcard.Meter, filters []Filter) *Miss {
	covers := func(patterns []Located, list func(*Filter) []Located) *Filter {
		i := slices.IndexFunc(filters, func(one Filter) bool {
			texts := list(&one)
			return len(texts) > 0 && !slices.ContainsFunc(texts, func(text Located) bool {
				return !slices.ContainsFunc(patterns, func(p Located) bool {
					return p.Text == text.Text || !wildcard.In(text.Text) && work.Fits(p.Text, text.Text)
				})
			})
		})
		if i < 0 {
			return nil
		}
		return &filters[i]
	}
	var miss *Miss
	for _, of := range []struct {
		field string
		list  func(*Filter) []Located
	}{{"names", (*Filter).Named}, {"namespaces", func(f *Filter) []Located { return f.Namespaces }}} {
		patterns := of.list(f)
		if len(patterns) == 0 {
			continue
		}
		at := covers(patterns, of.list)
		if at == nil {
			return nil
		}
		miss = &Miss{Field: of.field, Side: [2][]string{Texts(of.list(at)), {}}, At: at, isExcluded: true}
	}
	return miss
}

// FormsAbout returns the names of the rule and of its generated rules that are about something that the filters match.
func (r *Rule) FormsAbout(work *wildcard.Meter, filters []Filter) (names []string) {
	for i := range r.targets {
		if r.targets[i].Misses(work, filters, nil) == nil {
			names = append(names, r.targets[i].Rule)
		}
	}
	return names
}

func ofControllers(kinds []string) []Located {
	all := make([]Located, len(kinds))
	for i, kind := range kinds {
		all[i].Text = manifest.PodControllers[kind] + "/v1/" + kind
	}
	return all
}

// Alternatives returns lists of filters. A resource has to match all filters of one list.
func (m Match) Alternatives() (lists [][]Filter) {
	for _, f := range m.Any {
		lists = append(lists, []Filter{f})
	}
	switch {
	case len(lists) > 0:
		return lists
	case len(m.All) > 0:
		return [][]Filter{m.All}
	}
	return [][]Filter{m.Filters()} // the old form, or nothing
}

// sameKind are the subresources of which the objects have the kind of the resource.
var sameKind = []string{"/status", "/ephemeralcontainers", "/resize"}

// connects has the kind of the object in a request for a subresource of Pods that is not a part of the Pod.
var connects = map[string]string{"pods/exec": "/v1/PodExecOptions", "pods/attach": "/v1/PodAttachOptions",
	"pods/portforward": "/v1/PodPortForwardOptions", "pods/proxy": "/v1/PodProxyOptions"}

// controllersOf returns the kinds of controllers to whose templates Kyverno 1.19 applies a policy of
// policies.kyverno.io too (CanAutoGen and ConfigsMap in pkg/cel/autogen). known is false if the policy names others.
func controllersOf(spec map[string]any) (kinds []string, known bool) {
	constraints, _ := spec["matchConstraints"].(map[string]any)
	rules := resourceRules(constraints, "resourceRules")
	excluded, _ := constraints["excludeResourceRules"].([]any)
	if len(rules) != 1 || len(excluded) > 0 ||
		!slices.Equal(rules[0].resources, []string{"pods"}) || !slices.Equal(rules[0].versions, []string{"v1"}) {
		return nil, true
	}
	for kind := range manifest.PodControllers {
		if kind != "ReplicationController" {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	autogen, _ := spec["autogen"].(map[string]any)
	pods, _ := autogen["podControllers"].(map[string]any)
	names, listed := pods["controllers"].([]any)
	if !listed {
		return kinds, true
	}
	var chosen []string
	for _, name := range names {
		text, _ := name.(string)
		i := slices.IndexFunc(kinds, func(kind string) bool { return manifest.Plural(kind) == text })
		if i < 0 {
			return nil, false
		}
		chosen = append(chosen, kinds[i])
	}
	return chosen, true
}

// ofConstraints returns the target of a policy of policies.kyverno.io. Of its matchConstraints, only
// rules for resources of Kubernetes are read. With others, it may be about everything.
func ofConstraints(p *Policy, spec map[string]any) Target {
	t := Target{Policy: p, matched: [][]Filter{{}}}
	var f Filter
	anyOperation := false
	for _, r := range resourceRules(spec["matchConstraints"], "resourceRules") {
		t.Operations, anyOperation = append(t.Operations, r.operations...), anyOperation || len(r.operations) == 0
		for _, group := range r.groups {
			for _, resource := range r.resources {
				for _, sub := range sameKind {
					resource = strings.TrimSuffix(resource, sub)
				}
				if options := connects[resource]; options != "" && group == "" {
					f.Kinds = append(f.Kinds, Located{Text: options}, Located{Text: "/v1/Pod" + resource[len("pods"):]})
					continue
				}
				kind := manifest.KindOf(group, resource)
				if kind == "" {
					return Target{Policy: p, matched: [][]Filter{{}}}
				}
				for _, version := range r.versions {
					f.Kinds = append(f.Kinds, Located{Text: group + "/" + version + "/" + kind})
				}
			}
		}
	}
	isAny := slices.Contains(t.Operations, "*")
	t.deletes = isAny || slices.Contains(t.Operations, "DELETE")
	if isAny || anyOperation {
		t.Operations = nil
	}
	evaluation, _ := spec["evaluation"].(map[string]any)
	if len(f.Kinds) == 0 || evaluation["mode"] == "JSON" || spec["targetMatchConstraints"] != nil {
		return t
	}
	controllers, known := controllersOf(spec)
	if !known {
		return t
	}
	f.Kinds = append(f.Kinds, ofControllers(controllers)...)
	f.selectors()
	t.matched[0] = []Filter{f}
	if strings.HasPrefix(p.Kind, "Namespaced") && p.Namespace != "" {
		t.matched[0] = append(t.matched[0], Filter{Namespaces: []Located{{Text: p.Namespace}}})
	}
	return t
}

// Misses returns the reason why a target is about nothing that the filters match in one of some operations, or nil.
func (t *Target) Misses(work *wildcard.Meter, filters []Filter, operations []string) *Miss {
	missed := t.missesFilters(work, filters)
	for i := range t.excluded {
		if missed == nil {
			missed = t.excluded[i].excludes(work, filters)
		}
	}
	if missed == nil && len(operations) > 0 && len(t.Operations) > 0 && !slices.ContainsFunc(operations,
		func(one string) bool { return slices.Contains(t.Operations, one) }) {
		missed = &Miss{Field: "operations", Side: [2][]string{operations, t.Operations}, At: &Filter{}}
	}
	if missed == nil || work.Spent() {
		return nil
	}
	missed.By = t.describe()
	return missed
}

func (t *Target) missesFilters(work *wildcard.Meter, filters []Filter) (missed *Miss) {
	for _, matched := range t.matched {
		var miss *Miss
		for i := range filters {
			if miss = filters[i].apartFromAll(work, matched); miss != nil {
				break
			}
		}
		both := slices.Concat(filters, matched)
		if miss == nil {
			miss = withoutKind(work, filters, both)
		}
		if miss == nil {
			miss = withoutScope(work, both)
		}
		switch {
		case miss == nil || work.Spent():
			return nil
		case missed == nil:
			missed = miss
		case missed.Field == miss.Field:
			missed.Side[1] = append(missed.Side[1], miss.Side[1]...)
		}
	}
	return missed
}

// known returns a filter without the lists in which a variable stands for something: a tool replaces
// it before Kyverno reads the policy.
func (f Filter) known() Filter {
	for _, list := range []*[]Located{&f.Kinds, &f.Names, &f.Namespaces} {
		if slices.ContainsFunc(*list, hasVariable) {
			*list = nil
		}
	}
	if hasVariable(f.Name) {
		f.Name = Located{}
	}
	f.parsed = nil
	f.selectors()
	return f
}

func hasVariable(text Located) bool { return strings.ContainsAny(text.Text, "${}") }
