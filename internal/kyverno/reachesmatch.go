package kyverno

import (
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
)

// match asks about the match of a kyverno.io exception. Each filter of match.any
// exempts by itself, those of match.all do together. Kyverno passes over match.all
// where there is a match.any; it is looked at all the same.
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
		if f.CoversNamespaces() { // whose labels have their name
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

// nameOfNamespace is the label that the API server writes on every Namespace.
const nameOfNamespace = manifest.LabelOfNamespace

// nameSelector asks about labels that pick out a namespace by its name.
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
			continue // others leave namespaces out, or none
		}
		for _, name := range e.Values {
			a.namespace(name)
		}
	}
}

// together asks about filters that must all match. What each of them says of kinds
// and namespaces has to leave out the guard's, though another may do so already:
// an exception that names them has no good reason to. Where none says anything of kinds,
// namespaces or whole names, they cover the guard's.
func (a *asking) together(filters []Filter, path exception.Path) {
	covered, namespaced, narrow := true, false, false
	for _, f := range filters {
		covered = covered && f.CoversNamespaces()
		namespaced = namespaced || len(f.Namespaces) > 0
		narrow = narrow || a.ordinary && (len(f.Named()) > 0 || f.Selector.Selects() || f.NamespaceSelector.Selects()) || len(f.Kinds) > 0 || len(f.Namespaces) > 0 || f.namesWhole()
	}
	if !narrow {
		a.says(path, "list the kinds, e.g. kinds: [Pod, Deployment]", "no kind, namespace or whole name is required, so PolicyExceptions are exempt too: an exception must not exempt exceptions from their checks")
	}
	for _, f := range filters {
		for _, k := range f.Kinds {
			if meansException(k.Text) {
				a.says(k.Path, "list only the kinds that need the exception", "the kind %q matches PolicyException: an exception must not exempt exceptions from their checks", k.Text)
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
		// The name of a Namespace is that of what lives in it.
		if f.CoversNamespaces() && len(f.Kinds) > 0 || covered && !namespaced {
			for _, n := range f.Named() {
				a.namespace(n)
			}
		}
	}
}

func (a *asking) namespace(n Located) {
	if n.Text == "" {
		a.says(n.Path, "list the namespaces that need the exception", "\"\" is not a namespace: it matches every cluster-scoped object, including the roles and definitions of the guard")
	} else if guarded, found := a.hasNamespace(n.Text); found {
		a.says(n.Path, namespaceHint(n.Text, "list only the namespaces that need the exception"), "%s a guarded namespace: no exception may exempt objects in it", guardedName(n.Text, guarded))
	}
}

// object asks about the name of an object that may stand anywhere.
func (a *asking) object(n Located) {
	if guarded, found := a.guard.hasObject(a.work, n.Text); found {
		a.says(n.Path, "list the namespaces that need the exception", "%s the name of an object of the guard: no exception may exempt it", guardedName(n.Text, guarded))
	}
}
