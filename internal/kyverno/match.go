package kyverno

import (
	"maps"
	"slices"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// filter is one entry of a kyverno.io exception's match.any or match.all.
type filter struct {
	kinds, namespaces, names []located
}

// match asks about the match of a kyverno.io exception. Each filter of match.any
// exempts by itself, those of match.all do together. Kyverno passes over match.all
// where there is a match.any; it is looked at all the same.
func (a *asking) match(value any) {
	path := exception.Path{"spec", "match"}
	tree := a.mapping(value, path)
	anyOf, allOf := a.filters(tree["any"], path.With("any")), a.filters(tree["all"], path.With("all"))
	for i := range anyOf {
		a.together(anyOf[i:i+1], path.With("any").With(i))
	}
	if len(allOf) > 0 {
		a.together(allOf, path.With("all"))
	}
}

func (a *asking) filters(value any, path exception.Path) (all []filter) {
	for i, item := range a.list(value, path) {
		at := path.With(i)
		resources := at.With("resources")
		tree := a.mapping(a.mapping(item, at)["resources"], resources)
		f := filter{
			kinds:      a.texts(tree["kinds"], resources.With("kinds")),
			namespaces: a.texts(tree["namespaces"], resources.With("namespaces")),
			names:      append(a.texts(tree["names"], resources.With("names")), a.text(tree["name"], resources.With("name"))...),
		}
		a.nameSelector(tree["namespaceSelector"], resources.With("namespaceSelector"))
		if f.coversNamespaces() { // whose labels have their name
			a.nameSelector(tree["selector"], resources.With("selector"))
		}
		all = append(all, f)
	}
	return all
}

// nameOfNamespace is the label that the API server writes on every Namespace.
const nameOfNamespace = "kubernetes.io/metadata.name"

// nameSelector asks about labels that pick out a namespace by its name.
func (a *asking) nameSelector(value any, path exception.Path) {
	tree := a.mapping(value, path)
	labels := path.With("matchLabels")
	matchLabels := a.mapping(tree["matchLabels"], labels)
	for _, key := range slices.Sorted(maps.Keys(matchLabels)) {
		if _, isName := wildcard.OverlapsAny(key, []string{nameOfNamespace}); isName {
			for _, name := range a.text(matchLabels[key], labels.With(key)) {
				a.namespace(name)
			}
		}
	}
	expressions := path.With("matchExpressions")
	for i, item := range a.list(tree["matchExpressions"], expressions) {
		at := expressions.With(i)
		expression := a.mapping(item, at)
		if expression["key"] != nameOfNamespace || expression["operator"] != "In" {
			continue // others leave namespaces out, or none
		}
		for _, name := range a.texts(expression["values"], at.With("values")) {
			a.namespace(name)
		}
	}
}

// together asks about filters that must all match. What each of them says of kinds
// and namespaces has to leave out the guard's, though another may do so already:
// an exception that names them has no good reason to. Where none says anything of kinds,
// namespaces or whole names, they cover the guard's.
func (a *asking) together(filters []filter, path exception.Path) {
	covered, namespaced, narrow := true, false, false
	for _, f := range filters {
		covered = covered && f.coversNamespaces()
		namespaced = namespaced || len(f.namespaces) > 0
		narrow = narrow || len(f.kinds) > 0 || len(f.namespaces) > 0 || len(f.names) > 0 && !slices.ContainsFunc(f.names, located.isPattern)
	}
	if !narrow {
		a.says(path, "list the kinds that need it", "no kind, namespace or whole name is required, so PolicyExceptions are exempt too: an exception must not exempt exceptions from their checks")
	}
	for _, f := range filters {
		for _, k := range f.kinds {
			if meansException(k.text) {
				a.says(k.path, "list the kinds that need it", "%q covers PolicyException: an exception must not exempt exceptions from their checks", k.text)
			}
		}
		for _, n := range f.namespaces {
			a.namespace(n)
		}
		if !namespaced {
			for _, n := range f.names {
				a.object(n)
			}
		}
		// The name of a Namespace is that of what lives in it.
		if f.coversNamespaces() && len(f.kinds) > 0 || covered && !namespaced {
			for _, n := range f.names {
				a.namespace(n)
			}
		}
	}
}

func (a *asking) namespace(n located) {
	if n.text == "" {
		a.says(n.path, "name the namespaces that need it", "\"\" is no namespace: it fits everything that stands in none, the roles and definitions of the guard too")
	} else if guarded, found := a.guard.HasNamespace(n.text); found {
		a.says(n.path, "name the namespaces that need it", "%q is or fits a namespace that the guard lives in (%s)", n.text, guarded)
	}
}

// object asks about the name of an object that may stand anywhere.
func (a *asking) object(n located) {
	if a.guard.hasObject(n.text) {
		a.says(n.path, "name the namespaces that need it", "%q is or fits the name of the guard's own objects", n.text)
	}
}

// coversNamespaces reports whether a filter takes objects of kind Namespace.
func (f *filter) coversNamespaces() bool {
	return len(f.kinds) == 0 || slices.ContainsFunc(f.kinds, func(k located) bool { return ParseKind(k.text).Covers("Namespace", "") })
}
