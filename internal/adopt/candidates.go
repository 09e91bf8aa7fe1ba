package adopt

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// candidate is an exception that may become a pending one.
type candidate struct {
	*Adopted
	sources []int // of this object; empty if no file of the repository has it
	object  map[string]any
	text    []byte
	forms   []form
}

// given is an exception of a stream.
type given struct {
	object map[string]any
	line   int
	chart  string // the file of the Helm chart, from Helm's comment
	notes  []string
	used   bool
}

// stream reads the exceptions of a stream. others counts the other documents by the file of the
// Helm chart.
func stream(content []byte, trackers bool) (all []*given, others map[string]int, err error) {
	others = map[string]int{}
	for _, chunk := range split(content) {
		_, chart, _ := bytes.Cut(chunk.text, []byte("# Source: "))
		chart, _, _ = bytes.Cut(chart, []byte("\n"))
		from := string(bytes.TrimSpace(chart))
		object, err := object(chunk.text)
		if err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", chunk.line, err)
		}
		objects := items(object)
		if objects == nil && object != nil {
			objects = []map[string]any{object}
		}
		for _, object := range objects {
			if !isException(object) || text(object, "metadata", "name") == "" {
				others[from]++
				continue
			}
			g := &given{object: object, line: chunk.line, chart: from}
			if hook := text(object, "metadata", "annotations", "helm.sh/hook"); hook != "" && (trackers || from != "") {
				g.notes = []string{fmt.Sprintf("the annotations of a Helm hook (%s) are removed", hook)}
			}
			clean(object, trackers || from != "")
			all = append(all, g)
		}
	}
	return all, others, nil
}

// find returns the exceptions of a stream with the group, kind and name of one of the objects. The
// namespace must match too if the object has one.
func find(all []*given, forms ...map[string]any) (found []*given) {
	for _, g := range all {
		if slices.ContainsFunc(forms, func(object map[string]any) bool {
			namespace := text(object, "metadata", "namespace")
			return groupKind(g.object) == groupKind(object) && text(g.object, "metadata", "name") == text(object, "metadata", "name") &&
				(namespace == "" || strings.Contains(namespace, "$") || namespace == text(g.object, "metadata", "namespace"))
		}) {
			found = append(found, g)
		}
	}
	return found
}

// take uses the form of the found object if there is exactly one.
func (c *candidate) take(found []*given, note string) bool {
	for _, g := range found {
		g.used = true
	}
	if len(found) != 1 {
		return false
	}
	c.object, c.Notes = found[0].object, append(append(c.Notes, note), found[0].notes...)
	return true
}

// choose selects the only form of an exception, or returns a problem.
func (r *repository) choose(c *candidate, rendered, live []*given) *Problem {
	if c.take(find(rendered, r.sources[c.sources[0]].object), "adopted in the form of the rendered manifests") {
		c.object = inNamespace(c.object, r.options.Namespace)
		return nil
	}
	names := []map[string]any{r.sources[c.sources[0]].object}
	var forms []map[string]any
	var failed error
	for _, f := range c.forms {
		if f.err != nil {
			failed = f.err
			continue
		}
		clean(f.object, false)
		names = append(names, f.object)
		if !slices.ContainsFunc(forms, func(other map[string]any) bool { return key(other) == key(f.object) }) {
			forms = append(forms, f.object)
		}
	}
	several := ""
	for _, form := range forms {
		namespace := text(form, "metadata", "namespace")
		if namespace == "" {
			namespace = "(no namespace)"
		}
		several += fmt.Sprintf(" %s/%s", namespace, text(form, "metadata", "name"))
	}
	if n := r.options.Namespace; n != "" && len(forms) > 1 {
		forms = slices.DeleteFunc(forms, func(object map[string]any) bool { return text(object, "metadata", "namespace") != n })
	}
	if failed == nil && len(forms) == 1 && (text(forms[0], "metadata", "namespace") != "" || r.options.Namespace != "") {
		c.object = inNamespace(forms[0], r.options.Namespace)
		return nil
	}
	if c.take(find(live, names...), "adopted in the form of the live object") {
		return nil
	}
	hint := "give the live objects with --live: kubectl get policyexceptions -A -o yaml | polex adopt --live -"
	var unknown *UnknownVariableError
	switch {
	case errors.As(failed, &unknown):
		flags := ""
		for _, name := range unknown.Names {
			flags += fmt.Sprintf(" --substitute %s=VALUE", name)
		}
		return &Problem{Reason: ReasonVariable, Message: failed.Error(), Hint: "give it with" + flags + ", or " + hint}
	case failed != nil:
		return &Problem{Reason: ReasonNotRendered, Message: failed.Error(), Hint: hint}
	case len(forms) != 1:
		how := "give the namespace of the one to adopt with --exception-namespace NAME"
		if len(forms) > 1 && !slices.ContainsFunc(forms[1:], func(form map[string]any) bool {
			return text(form, "metadata", "namespace") != text(forms[0], "metadata", "namespace")
		}) {
			how = "write a document for each form in its place"
		}
		return &Problem{Reason: ReasonSeveral, Message: "the repository deploys it in different forms:" + several, Hint: how + ", or " + hint}
	default:
		return &Problem{Reason: ReasonNoNamespace, Message: "no namespace in the file, and no other file of the repository sets one", Hint: "give it with --exception-namespace NAME, or " + hint}
	}
}

// identity returns the identity of an exception in the API server.
func identity(object map[string]any) exception.Identity {
	return exception.Identity{GroupKind: groupKind(object), Namespace: text(object, "metadata", "namespace"), Name: text(object, "metadata", "name")}
}
