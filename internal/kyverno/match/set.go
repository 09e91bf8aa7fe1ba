package match

import (
	"maps"
	"slices"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Resources is the objects of a repository that exceptions may exempt. It
// does not change once it is read and can be used by several goroutines.
type Resources struct {
	kinds      map[string]*resourcesOfKind
	sorted     []string // the keys of kinds
	namespaces map[string]*Namespace
	count      int
}

type resourcesOfKind struct {
	all         []*Resource
	byName      map[string][]*Resource
	byNamespace map[string][]*Resource // "" for those that do not say one
	generated   []*Resource            // those without a name of their own
}

// ReadResources makes a set of those documents that are objects of a cluster,
// whatever their kind, and passes over the others: values, kustomizations.
// Objects are taken as they are written; what a template or an overlay makes of
// them is not known.
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
		if r.generated {
			of.generated = append(of.generated, r)
		}
		of.byName[r.Id.Name] = append(of.byName[r.Id.Name], r)
		home, _ := r.inNamespace()
		of.byNamespace[home] = append(of.byNamespace[home], r)
		if r.isNamespace() {
			labels := maps.Clone(r.labels)
			labels[manifest.LabelOfNamespace] = r.Id.Name
			r.self = &Namespace{Labels: labels, annotations: r.annotations, Written: true}
			set.namespaces[r.Id.Name] = r.self
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

// Len returns how many objects the set holds.
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

// candidates calls visit with every resource that a filter can take, and with
// as few others as its kinds, names and namespaces allow. It ends early when
// visit returns false.
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

// ofKinds returns the resources by kind that selectors can take. Groups and
// versions are left to the filter.
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

// looked looks up names, unless there are none or one of them is a pattern.
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
