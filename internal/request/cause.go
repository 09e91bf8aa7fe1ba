package request

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// cause groups violations by the rules of one policy and the workload that violates them.
type cause struct {
	of       []*resolved
	workload Resource
	// targets are the exempted resources.
	targets []target
	rules   []string // kyverno.io: their names, sorted
	// controls of Pod security; nil to exempt from whole rules.
	controls []Control
	notes    []string // facts that the draft could not consider
}

// target is one kind of exempted resource, with its names.
type target struct {
	Resource
	patterns   []string // kyverno.io: patterns of the generated names; nil for the exact name
	labels     []label  // kyverno.io: labels that distinguish them from siblings
	expression string   // policies.kyverno.io: the names as a regular expression
}

// causes groups violations. Violations of Pod security controls stay separate for each rule,
// because the controls of an exception apply to all its rules.
func (r *requester) causes(all []*resolved) []*cause {
	byKey := map[breach]*cause{}
	var causes []*cause
	for _, one := range all {
		workload := r.workload(one)
		key := breach{one.PolicyKind, one.Policy, "", workload, one.direct}
		if len(one.controls) > 0 {
			key.rule = one.rule
		}
		c := byKey[key]
		if c == nil {
			c = &cause{workload: workload}
			byKey[key] = c
			causes = append(causes, c)
		}
		c.of = append(c.of, one)
	}
	slices.SortStableFunc(causes, func(a, b *cause) int {
		v, w := a.workload, b.workload
		return cmp.Or(cmp.Compare(a.of[0].Policy, b.of[0].Policy), cmp.Compare(v.APIVersion, w.APIVersion),
			cmp.Compare(v.Kind, w.Kind), cmp.Compare(v.Namespace, w.Namespace),
			cmp.Compare(v.Name, w.Name), cmp.Compare(a.of[0].rule, b.of[0].rule))
	})
	for _, c := range causes {
		c.reach(r.objects)
	}
	return causes
}

// workload returns the workload with the violation: the resource itself or the controller that
// created it. The controller comes from a manifest or from another violation of the same rule.
func (r *requester) workload(one *resolved) Resource {
	if one.direct {
		return one.Resource
	}
	owner := r.objects.owner(one.Resource)
	// Truncated names match no controller.
	for _, kind := range controllers {
		for at := len(owner.Name) - 1; at > 0; at-- {
			other := Resource{workloads[kind].apiVersion, kind, owner.Namespace, owner.Name[:at]}
			if owner.Name[at] == '-' && r.controllers[one.by(other)] && other.makes(owner) {
				return r.objects.owner(other)
			}
		}
	}
	return owner
}

// breach is the key of a violation: the policy, the rule and the violating resource.
type breach struct {
	policyKind, policy, rule string
	by                       Resource
	direct                   bool
}

// by returns the key of a violation of the same rule by a controller of Pods.
func (one *resolved) by(controller Resource) breach {
	return breach{one.PolicyKind, one.Policy, one.rule, controller, false}
}

// reach sets the resources and rules of the exception.
func (c *cause) reach(all objects) {
	first := c.of[0]
	rules := map[string]bool{}
	self := first.direct || !c.workload.isWorkload()
	for _, kind := range c.kinds() {
		needed := false
		for _, one := range c.of {
			form := one.form(kind.kind)
			if self {
				form = one.Rule
			}
			switch {
			case !first.hasRules():
				needed = needed || self || one.pods || one.Resource.Kind == kind.kind
			case form != "":
				rules[form], needed = true, true
			}
		}
		if needed {
			c.targets = append(c.targets, c.target(kind, all))
		}
	}
	c.rules = slices.Sorted(maps.Keys(rules))
	c.note()
	for _, one := range c.of {
		c.controls = merged(c.controls, one.controls)
	}
}

// kinds returns the kind of the workload and the kinds that it creates, down to Pods.
func (c *cause) kinds() []created {
	own := []created{{kind: c.workload.Kind, apiVersion: c.workload.APIVersion}}
	if c.of[0].direct || !c.workload.isWorkload() {
		return own
	}
	return append(own, workloads[c.workload.Kind].makes...)
}

func (c *cause) target(kind created, all objects) target {
	t := target{Resource: c.workload}
	if len(kind.parts) == 0 {
		return t
	}
	t.Kind, t.APIVersion, t.labels = kind.kind, kind.apiVersion, kind.labels
	t.expression = kind.expression(c.workload.Name)
	if kind.parts[0].patterns == nil {
		var besides []string
		for _, one := range c.of {
			if one.Resource.isPod() {
				besides = append(besides, one.Resource.Name)
			}
		}
		slices.Sort(besides)
		t.patterns = all.ordinals(c.workload, besides)
		return t
	}
	names, early := kind.patterns(c.workload.Name)
	t.patterns = names
	if known := c.of[0].known; known != nil && known.Early {
		t.patterns = append(t.patterns, early...)
	}
	return t
}

// note adds notes about open questions.
func (c *cause) note() {
	add := func(is bool, format string, args ...any) {
		if is {
			c.notes = append(c.notes, fmt.Sprintf(format, args...))
		}
	}
	for _, one := range c.of {
		add(one.guessed, "assumed that %q is a ClusterPolicy; --policies checks it", one.Policy)
		add(one.builtIn, "assumed that %s is of %s; --resources checks it", one.Resource.Kind, one.Resource.APIVersion)
		add(one.wondering, "assumed that %q does not cover the Pods of %s; --policies checks it",
			one.Policy, c.workload)
	}
	add(c.workload.isPod(), "%s is exempt by its exact name: if a controller made it, the next one has another name; "+
		"give its manifest with --resources", c.workload)
	slices.Sort(c.notes)
	c.notes = slices.Compact(c.notes)
}

// merged merges the controls of several violations.
func merged(all, more []Control) []Control {
	for _, control := range more {
		at := slices.IndexFunc(all, func(c Control) bool { return c.Name == control.Name })
		if at < 0 {
			all = append(all, control)
			continue
		}
		all[at].Pod, all[at].Known = all[at].Pod || control.Pod, all[at].Known || control.Known
		images := slices.Concat(all[at].Images, control.Images)
		slices.Sort(images)
		all[at].Images = slices.Compact(images)
	}
	slices.SortFunc(all, func(a, b Control) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
