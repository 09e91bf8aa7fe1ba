package translate

import (
	"fmt"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/draft"
)

// What conditions speak of. A filter is asked about the new object, or the old
// one where a request deletes.
const (
	celObject    = "[request.operation == 'DELETE' ? oldObject : object].exists(it,\n"
	celName      = "it.metadata.name"
	celNamespace = "it.metadata.namespace"
	// Kyverno takes generateName for the name of what has none yet.
	celAnyName = "[has(it.metadata.name) && it.metadata.name != '' ? it.metadata.name : has(it.metadata.generateName) ? it.metadata.generateName : '']"
)

// match writes match.any or match.all as one CEL expression, or notes why not.
func (t *translator) match() string {
	filters, between := t.Filters("any"), " ||\n"
	if len(filters) == 0 {
		filters, between = t.Filters("all"), " &&\n"
	}
	if len(filters) == 0 {
		t.note(exception.Path{"spec", "match"}, "the match names no resource, so the exception exempts nothing", "say which resources it is for")
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

// filter returns the conditions of one filter, which are joined by "and".
func (t *translator) filter(f draft.Filter) []string {
	if !saysSomething(f) {
		t.note(f.Path, "the filter is empty, and Kyverno matches nothing with it", "remove it")
		return nil
	}
	at := f.Path.With("resources")
	if operations, _ := f.Resources["operations"].([]any); len(operations) > 0 {
		t.note(at.With("operations"), "Kyverno does not look at operations in an exception, so that it exempts more than it says", "remove them, or write the new form by hand with request.operation")
	}
	conditions := t.ofKinds(f.Kinds)
	for _, more := range [][]string{
		named(f), inNamespaces(f), annotated(f.Resources["annotations"]),
		t.selected(f.Resources["selector"], at.With("selector"), labelsOf{"it.metadata.labels", "has(it.metadata.labels)"}),
		t.inSelectedNamespaces(f), t.byUser(f),
	} {
		conditions = append(conditions, more...)
	}
	if len(conditions) == 0 && len(t.notes) == 0 {
		t.note(f.Path, "the filter takes every resource, and a translation would hide that", "say which resources it is for")
	}
	return conditions
}

// saysSomething reports whether Kyverno takes a filter for one at all.
func saysSomething(f draft.Filter) bool {
	for _, fields := range []map[string]any{f.Tree, f.Resources} {
		for key, value := range fields {
			switch v := value.(type) {
			case string:
				if v != "" {
					return true
				}
			case []any:
				if len(v) > 0 {
					return true
				}
			case map[string]any:
				if key == "selector" || key == "namespaceSelector" || key == "annotations" && len(v) > 0 {
					return true
				}
			}
		}
	}
	return false
}

// named writes the names of a filter. A schema keeps name and names apart.
func named(f draft.Filter) []string {
	patterns := plain(f.Resources["names"])
	if name, _ := f.Resources["name"].(string); name != "" {
		patterns = []string{name}
	}
	if condition := among("name", patterns); condition != "" {
		return []string{celAnyName + ".exists(name, " + condition + ")"}
	}
	return nil
}

// inNamespaces writes the namespaces of a filter. An object of kind Namespace is
// in itself.
func inNamespaces(f draft.Filter) []string {
	patterns := plain(f.Resources["namespaces"])
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
