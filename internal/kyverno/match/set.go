package match

import (
	"maps"
	"slices"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Resources are the objects of a repository that exceptions may exempt. They do not change and are
// safe for concurrent use.
type Resources struct {
	kinds      map[string]*resourcesOfKind
	sorted     []string // the keys of kinds
	namespaces map[string]*Namespace
	count      int
}

type resourcesOfKind struct {
	all         []*Resource
	byName      map[string][]*Resource
	byNamespace map[string][]*Resource // "": no namespace in the file
}

// ReadResources returns the documents that are objects of a cluster, of any kind. It ignores
// others, such as values files and kustomizations. It uses objects as they are written, because the
// results of templates and overlays are not known.
func ReadResources(docs []*exception.Document) *Resources {
	set := &Resources{kinds: map[string]*resourcesOfKind{}, namespaces: map[string]*Namespace{}}
	for _, d := range manifest.Objects(docs) {
		r := readResource(d)
		if r == nil {
			continue
		}
		set.count++
		of := set.kinds[r.Id.Kind]
		if of == nil {
			of = &resourcesOfKind{byName: map[string][]*Resource{}, byNamespace: map[string][]*Resource{}}
			set.kinds[r.Id.Kind] = of
		}
		of.all = append(of.all, r)
		of.byName[r.Id.Name] = append(of.byName[r.Id.Name], r)
		home, _ := r.inNamespace()
		of.byNamespace[home] = append(of.byNamespace[home], r)
		if written := r.Id.Namespace; written != home { // of another kind called Namespace
			of.byNamespace[written] = append(of.byNamespace[written], r)
		}
		if r.Id.Kind == "Namespace" && r.Id.Group == "" {
			labels := maps.Clone(r.labels)
			labels[manifest.LabelOfNamespace] = r.Id.Name
			set.namespaces[r.Id.Name] = &Namespace{Labels: labels, Written: true}
		}
	}
	set.sorted = slices.Sorted(maps.Keys(set.kinds))
	for _, of := range set.kinds {
		for _, r := range of.all {
			r.Home = set.home(r.Id.Namespace)
		}
	}
	return set
}

// Len returns the number of objects.
func (set *Resources) Len() int { return set.count }

func (set *Resources) home(name string) *Namespace {
	if name == "" {
		return nil
	}
	home := set.namespaces[name]
	if home == nil {
		home = &Namespace{Labels: map[string]string{manifest.LabelOfNamespace: name}}
		set.namespaces[name] = home
	}
	return home
}

// candidates calls visit with every resource that a filter can match, until it returns false. It
// uses the kinds, names and namespaces of the filter to omit most others.
func (set *Resources) candidates(work *wildcard.Meter, f *Filter, visit func(*Resource) bool) {
	for _, of := range set.ofKinds(work, f.Kinds) {
		for _, list := range of.narrowed(f.NamesAsked(), f.Namespaces) {
			for _, r := range list {
				if !work.Spend(1) || !visit(r) {
					return
				}
			}
		}
	}
}

// ofKinds returns the resources with kinds that the selectors match. The caller checks the groups
// and versions.
func (set *Resources) ofKinds(work *wildcard.Meter, selectors []kyverno.KindSelector) []*resourcesOfKind {
	var found []*resourcesOfKind
	if len(selectors) == 0 {
		selectors = []kyverno.KindSelector{{Kind: "*"}}
	}
	seen := map[*resourcesOfKind]bool{}
	for _, k := range selectors {
		if !wildcard.In(k.Kind) {
			if of := set.kinds[k.Kind]; of != nil && !seen[of] {
				seen[of], found = true, append(found, of)
			}
			continue
		}
		for _, kind := range set.sorted {
			of := set.kinds[kind]
			if !seen[of] && work.Fits(k.Kind, kind) {
				seen[of], found = true, append(found, of)
			}
		}
	}
	return found
}

func (of *resourcesOfKind) narrowed(names, namespaces []string) [][]*Resource {
	if lists, plain := looked(of.byName, names); plain {
		return lists
	}
	if lists, plain := looked(of.byNamespace, namespaces); plain {
		return append(lists, of.byNamespace[""])
	}
	return [][]*Resource{of.all}
}

// looked looks up names. plain is false if there are none or one is a pattern.
func looked(index map[string][]*Resource, names []string) (lists [][]*Resource, plain bool) {
	seen := map[string]bool{}
	for _, name := range names {
		if wildcard.In(name) {
			return nil, false
		}
		if !seen[name] && len(index[name]) > 0 {
			seen[name], lists = true, append(lists, index[name])
		}
	}
	return lists, len(names) > 0
}
