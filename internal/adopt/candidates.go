package adopt

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// candidate is an exception on its way to the pending folder.
type candidate struct {
	*Adopted
	source int // -1 where it is from no file of the repository
	object map[string]any
	text   []byte
	forms  []form
}

// given are the exceptions of a stream.
type given struct {
	object map[string]any
	line   int
	chart  string // the file of a chart that Helm says it is from
	used   bool
}

// stream reads the exceptions of a stream. others counts, by the file of a chart that Helm names, the documents
// that are not exceptions.
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
			clean(object, trackers || from != "")
			all = append(all, &given{object: object, line: chunk.line + leading(chunk.text), chart: from})
		}
	}
	return all, others, nil
}

// find returns the exceptions of a stream that have the group and name of an object, and
// its namespace where it says one.
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

// choose returns the one form of an exception, or why there is none.
func (r *repository) choose(c *candidate, live []*given) *Problem {
	names := []map[string]any{r.sources[c.source].object}
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
	several := len(forms)
	if n := r.options.Namespace; n != "" && several > 1 {
		forms = slices.DeleteFunc(forms, func(object map[string]any) bool { return text(object, "metadata", "namespace") != n })
	}
	if failed == nil && len(forms) == 1 && (text(forms[0], "metadata", "namespace") != "" || r.options.Namespace != "") {
		c.object = inNamespace(forms[0], r.options.Namespace)
		return nil
	}
	found := find(live, names...)
	for _, g := range found {
		g.used = true
	}
	if len(found) == 1 {
		c.object = found[0].object
		c.Notes = append(c.Notes, "its form is that of the live object")
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
		return &Problem{Reason: ReasonSeveral, Message: fmt.Sprintf("the repository deploys it in %d different forms: %s", several, r.formsOf(c)),
			Hint: "give the namespace of the one to adopt with --namespace NAME, or " + hint}
	default:
		return &Problem{Reason: ReasonNoNamespace, Message: "nothing in the repository says which namespace it is deployed to", Hint: "give it with --namespace NAME, or " + hint}
	}
}

// formsOf names the forms of an exception, and the deployers that they are from.
func (r *repository) formsOf(c *candidate) string {
	var all []string
	for _, f := range c.forms {
		if f.err != nil {
			continue
		}
		name := text(f.object, "metadata", "namespace") + "/" + text(f.object, "metadata", "name")
		if f.by != nil {
			name += fmt.Sprintf(" by %s %s", text(f.by.object, "kind"), text(f.by.object, "metadata", "name"))
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

// identity returns what the API server tells an exception apart by.
func identity(object map[string]any) exception.Identity {
	return exception.Identity{GroupKind: groupKind(object), Namespace: text(object, "metadata", "namespace"), Name: text(object, "metadata", "name")}
}

// place gives each candidate its file. Two of the same name in both API groups have files
// that name the group, and so has what would be read as a kustomization.
func (r *repository) place(all []*candidate) {
	taken := map[string]exception.Identity{}
	for _, c := range all {
		id := identity(c.object)
		c.To = path.Join(r.options.Unsigned, id.Namespace, id.Name+".yaml")
		if other, there := taken[c.To]; there && other != id || r.isKustomization(c.To) {
			c.To = path.Join(r.options.Unsigned, id.Namespace, id.Name+"."+id.Group+".yaml")
		}
		taken[c.To] = id
	}
}
