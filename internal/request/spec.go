package request

import (
	"cmp"
	"slices"
	"strings"
)

// rulesAndMatch writes the spec of a kyverno.io exception.
func (c *cause) rulesAndMatch() (map[string]any, *Problem) {
	filters := make([]any, len(c.targets))
	for i, t := range c.targets {
		kind := t.selector()
		if rule := c.of[0].known; rule != nil {
			kind = cmp.Or(rule.Subresource(t.Kind), kind)
		}
		resources := map[string]any{"kinds": []any{kind}}
		if t.patterns == nil {
			resources["names"] = []any{t.Name}
		} else {
			resources["names"] = list(t.patterns)
		}
		if len(t.labels) > 0 {
			expressions := make([]any, len(t.labels))
			for i, l := range t.labels {
				expressions[i] = map[string]any{"key": l.key, "operator": l.operator}
			}
			resources["selector"] = map[string]any{"matchExpressions": expressions}
		}
		switch {
		case t.Namespace != "":
			resources["namespaces"] = []any{t.Namespace}
		case t.APIVersion == "v1" && t.Kind == "Namespace":
			resources["namespaces"] = []any{t.Name} // Kyverno treats a Namespace as part of itself
		}
		filters[i] = map[string]any{"resources": resources}
	}
	spec := map[string]any{
		"exceptions": []any{map[string]any{"policyName": c.of[0].ref, "ruleNames": list(c.rules)}},
		"match":      map[string]any{"any": filters},
	}
	if one := c.of[0]; len(c.controls) == 0 {
		if one.known != nil && one.known.PodSecurity {
			return nil, problem(ReasonObjectNeeded, one.Violation,
				"give the report instead: PATH without --from, or --from cluster",
				"the source does not state which controls of Pod security were violated")
		}
		return spec, nil
	}
	entries, p := c.podSecurity()
	spec["podSecurity"] = entries
	return spec, p
}

// podSecurity writes the controls. Controls of containers include the images.
func (c *cause) podSecurity() ([]any, *Problem) {
	var entries []any
	for _, control := range c.controls {
		pods, containers := slices.Contains(ofPods, control.Name), slices.Contains(ofContainers, control.Name)
		images := len(control.Images) > 0 && !pods
		whole := pods || !containers && (control.Pod || !control.Known && !images)
		if whole {
			entries = append(entries, map[string]any{"controlName": control.Name})
		}
		if images {
			entries = append(entries, map[string]any{"controlName": control.Name, "images": list(control.Images)})
		}
		if !whole && !images {
			return nil, problem(ReasonObjectNeeded, c.of[0].Violation, "give the manifest: --resources",
				"%q is about containers, and the source does not state which images they run", control.Name)
		}
	}
	return entries, nil
}

// selector returns the kind with its API group. It includes the version for groups that have only
// ever had one.
func (t target) selector() string {
	if group := t.changingGroup(); group != "" {
		return group + "/*/" + t.Kind
	}
	return t.APIVersion + "/" + t.Kind
}

// changingGroup returns the API group, or "" for a group that has only ever had one version.
func (t target) changingGroup() string {
	group, _, grouped := strings.Cut(t.APIVersion, "/")
	if !grouped || group == "apps" || group == "batch" {
		return ""
	}
	return group
}

func list(texts []string) []any {
	items := make([]any, len(texts))
	for i, text := range texts {
		items[i] = text
	}
	return items
}

// conditions writes the spec of a policies.kyverno.io exception. It has one condition, so that the
// first part protects the following parts. For some policies, Kyverno 1.19 treats a condition that
// cannot be evaluated as true.
func (c *cause) conditions() map[string]any {
	lines := []string{"object != null && has(object.metadata) && has(object.apiVersion) && has(object.kind)"}
	if c.workload.Namespace != "" {
		namespace := quoted(c.workload.Namespace)
		lines = append(lines, "has(object.metadata.namespace) && object.metadata.namespace == "+namespace)
	}
	either := make([]string, len(c.targets))
	for i, t := range c.targets {
		either[i] = t.condition()
	}
	if len(either) == 1 {
		lines = append(lines, either[0])
	} else {
		lines = append(lines, "(\n  "+strings.Join(either, " ||\n  ")+"\n)")
	}
	return map[string]any{
		"policyRefs":      []any{map[string]any{"name": c.of[0].ref, "kind": c.of[0].PolicyKind}},
		"matchConditions": []any{map[string]any{"name": "only", "expression": strings.Join(lines, " &&\n")}},
	}
}

func (t target) condition() string {
	version := "object.apiVersion == " + quoted(t.APIVersion)
	if group := t.changingGroup(); group != "" {
		version = "object.apiVersion.startsWith(" + quoted(group+"/") + ")"
	}
	named := "has(object.metadata.name) && object.metadata.name == " + quoted(t.Name)
	if t.patterns != nil {
		named = "has(object.metadata.name) && object.metadata.name.matches(" + quoted(t.expression) + ")"
	}
	return version + " && object.kind == " + quoted(t.Kind) + " && " + named
}

// quoted returns a CEL string literal. The text has the form of a name, so it needs no escapes.
func quoted(text string) string { return "'" + text + "'" }
