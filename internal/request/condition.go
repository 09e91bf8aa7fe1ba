package request

import (
	"strings"
)

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
	group, _, grouped := strings.Cut(t.APIVersion, "/")
	version := "object.apiVersion == " + quoted(t.APIVersion)
	if grouped && group != "apps" && group != "batch" {
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
