package kyverno

import (
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
)

// match checks the match of a kyverno.io exception. Each filter of match.any exempts alone; those
// of match.all exempt together. Kyverno ignores match.all if there is a match.any, but it is
// checked anyway.
func (a *asking) match(e *Exception) {
	m := e.Match
	filters := m.Filters()
	for i := range filters {
		if f := &filters[i]; !a.work.Spend(itemWork * (1 + len(f.Kinds) + len(f.Names) + len(f.Namespaces))) {
			return
		}
	}
	for _, f := range filters {
		a.nameSelector(f.NamespaceSelector)
		if f.CoversNamespaces() { // the labels of a Namespace contain its name
			a.nameSelector(f.Selector)
		}
	}
	for i := range m.Any {
		a.admitted = a.admits(e.Refs, m.Any[i:i+1])
		a.together(m.Any[i:i+1], m.Any[i].Path)
	}
	if len(m.All) > 0 {
		a.admitted = a.admits(e.Refs, m.All)
		a.together(m.All, exception.Path{"spec", "match", "all"})
	}
}

// nameOfNamespace is the label that the API server sets on every Namespace.
const nameOfNamespace = manifest.LabelOfNamespace

// nameSelector checks labels that select a namespace by its name.
func (a *asking) nameSelector(s *Selector) {
	if s == nil {
		return
	}
	if !a.work.Spend(itemWork * len(s.Labels)) {
		return
	}
	for _, key := range s.keys() {
		if name := s.Labels[key.Text]; a.work.Overlap(key.Text, nameOfNamespace) && name != "" {
			a.namespace(Located{name, key.Path})
		}
	}
	for _, e := range s.Expressions {
		if e.Key.Text != nameOfNamespace || e.Operator != "In" {
			continue // other operators exclude namespaces, or none
		}
		for _, name := range e.Values {
			a.namespace(name)
		}
	}
}

// together checks filters that a resource has to match together. The kinds and namespaces of each
// filter have to exclude those of the guard, even if another filter already does: no valid
// exception needs to name them. Filters that require no kind, namespace or whole name select the
// objects of the guard.
func (a *asking) together(filters []Filter, path exception.Path) {
	covered, namespaced, narrow := true, false, false
	for _, f := range filters {
		covered = covered && f.CoversNamespaces()
		namespaced = namespaced || len(f.Namespaces) > 0
		narrow = narrow || a.ordinary && (len(f.Named()) > 0 || f.Selector.Selects() ||
			f.NamespaceSelector.Selects()) || len(f.Kinds) > 0 || len(f.Namespaces) > 0 || f.namesWhole()
	}
	if !narrow {
		a.says(path, "list the kinds, e.g. kinds: [Pod, Deployment]",
			"no kind, namespace or whole name is required, so PolicyExceptions are exempt too: an exception must not "+
				"exempt exceptions from their checks")
	}
	for _, f := range filters {
		for _, k := range f.Kinds {
			if meansException(k.Text) {
				a.says(k.Path, "list only the kinds that need the exception",
					"the kind %q matches PolicyException: an exception must not exempt exceptions from their checks",
					k.Text)
			}
		}
		for _, n := range f.Namespaces {
			a.namespace(n)
		}
		if !namespaced {
			for _, n := range f.Named() {
				a.object(n)
			}
		}
		// The name of a Namespace is the namespace of the objects in it.
		if f.CoversNamespaces() && len(f.Kinds) > 0 || covered && !namespaced {
			for _, n := range f.Named() {
				a.namespace(n)
			}
		}
	}
}

func (a *asking) namespace(n Located) {
	if n.Text == "" {
		a.says(n.Path, "list the namespaces that need the exception",
			"\"\" is not a namespace: it matches every cluster-scoped object, including the roles and definitions of "+
				"the guard")
	} else if guarded, found := a.hasNamespace(n.Text); found {
		a.says(n.Path, namespaceHint(n.Text, "list only the namespaces that need the exception"),
			"%s a guarded namespace: no exception may exempt objects in it", guardedName(n.Text, guarded))
	}
}

// object checks the name of an object that may be in any namespace.
func (a *asking) object(n Located) {
	if guarded, found := a.guard.hasObject(a.work, n.Text); found {
		a.says(n.Path, "list the namespaces that need the exception",
			"%s the name of an object of the guard: no exception may exempt it", guardedName(n.Text, guarded))
	}
}
