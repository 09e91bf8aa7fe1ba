package translate

import (
	"fmt"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
)

// The values that conditions read. A filter applies to the new object, or to the old one in a
// deletion.
const (
	celObject    = "[request.operation == 'DELETE' ? oldObject : object].exists(it,\n"
	celName      = "it.metadata.name"
	celNamespace = "it.metadata.namespace"
	// Kyverno uses generateName for an object without a name.
	celAnyName = "[has(it.metadata.name) && it.metadata.name != '' ? it.metadata.name : " +
		"has(it.metadata.generateName) ? it.metadata.generateName : '']"
)

// match writes match.any or match.all as one CEL expression, or adds notes.
func (t *translator) match() string {
	filters, between := t.Match.Any, " ||\n"
	if len(filters) == 0 {
		filters, between = t.Match.All, " &&\n"
	}
	if len(filters) == 0 {
		t.note(t.ScopePath, "the match names no resource, so the exception exempts nothing", "name the resources")
	}
	parts := make([]string, 0, len(filters))
	for _, f := range filters {
		conditions := t.filter(f)
		parts = append(parts, "  ("+strings.Join(conditions, " &&\n   ")+")")
	}
	text := strings.Join(parts, between)
	if t.namespace != "" {
		text = "  (\n" + text + "\n  ) && " + present(celNamespace, []string{t.namespace})
	}
	return celObject + text + "\n)"
}

// filter returns the conditions of one filter, which "and" joins.
func (t *translator) filter(f kyverno.Filter) []string {
	if f.Empty() {
		t.note(f.Path, "the filter is empty, and Kyverno matches nothing with it", "remove it")
		return nil
	}
	at := f.Path.With("resources")
	if len(f.Operations) > 0 {
		t.note(at.With("operations"), "Kyverno ignores operations in an exception, so it exempts more than it states",
			"remove them, or write the new form by hand with request.operation")
	}
	conditions := t.ofKinds(f.Kinds)
	for _, more := range [][]string{
		named(f), inNamespaces(f), annotated(f.Annotations),
		t.selected(f.Selector, labelsOf{"it.metadata.labels", "has(it.metadata.labels)"}),
		t.inSelectedNamespaces(f), t.byUser(f),
	} {
		conditions = append(conditions, more...)
	}
	if len(conditions) == 0 && len(t.notes) == 0 {
		t.note(f.Path, "the filter matches every resource, and a translation would hide that", "name the resources")
	}
	return conditions
}

// named writes the names of a filter. The schema permits either name or names.
func named(f kyverno.Filter) []string {
	patterns := kyverno.Texts(f.Names)
	if f.Name.Text != "" {
		patterns = []string{f.Name.Text}
	}
	if condition := among("name", patterns); condition != "" {
		return []string{celAnyName + ".exists(name, " + condition + ")"}
	}
	return nil
}

// inNamespaces writes the namespaces of a filter. For Kyverno, a Namespace is in itself.
func inNamespaces(f kyverno.Filter) []string {
	patterns := kyverno.Texts(f.Namespaces)
	condition := present(celNamespace, patterns)
	switch {
	case condition == "":
		return nil
	case mayBeNamespace(f):
		return []string{fmt.Sprintf("(it.kind == 'Namespace' ? %s : %s)", present(celName, patterns), condition)}
	default:
		return []string{condition}
	}
}
