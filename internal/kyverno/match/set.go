package match

import (
	"maps"
	"slices"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Resources are the objects of a repository that exceptions may exempt. They do not change.
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

// ofKinds returns the resources with kinds that the selectors match. The caller checks the groups and versions.
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

// Resource is an object that an exception may exempt, as in its file.
type Resource struct {
	Id                  exception.Identity
	Version             string
	labels, annotations map[string]string
	clusterScoped       bool
	Home                *Namespace // nil: the file does not contain the namespace
}

// Namespace contains the known labels of a Namespace.
type Namespace struct {
	Labels map[string]string
	// Written means that a document contains the labels. Otherwise only the label of the API server is known.
	Written bool
}

// readResource returns nil for a document that is not an object of a cluster.
func readResource(d *exception.Document) *Resource {
	id := d.Identity()
	if id.Name == "" {
		id.Name = d.Text("metadata", "generateName")
	}
	if id.Kind == "" || id.Name == "" || d.Version() == "" || id.Group == "kustomize.config.k8s.io" ||
		len(id.Name) > manifest.LongestName || len(id.Namespace) > manifest.LongestName ||
		len(id.Kind) > manifest.LongestName || len(id.Group) > manifest.LongestName {
		return nil
	}
	if id.Kind == "Namespace" && id.Group == "" {
		id.Namespace = ""
	}
	labels, _ := d.Lookup("metadata", "labels")
	annotations, _ := d.Lookup("metadata", "annotations")
	return &Resource{
		Id: id, Version: d.Version(), labels: manifest.StringMap(labels), annotations: manifest.StringMap(annotations),
		clusterScoped: slices.Contains(manifest.ClusterScopedKinds[id.Group], id.Kind),
	}
}

// inNamespace returns the namespace to compare with the namespaces of a filter. For Kyverno, a
// Namespace is in itself. The namespace is unknown if kustomize, kubectl or the kind determines it.
func (r *Resource) inNamespace() (name string, known bool) {
	if r.Id.Kind == "Namespace" {
		return r.Id.Name, true
	}
	return r.Id.Namespace, r.Id.Namespace != "" || r.clusterScoped
}

// namespaceMatches reports whether a selector matches the namespace of the resource. Unknown labels count as matching.
func (r *Resource) namespaceMatches(work *wildcard.Meter, s *LabelSelector) bool {
	if r.clusterScoped {
		return s.matches(work, nil)
	}
	if r.Home == nil || s.matches(work, r.Home.Labels) {
		return true
	}
	if r.Home.Written || s.Broken {
		return false
	}
	for key := range s.Labels {
		if key == manifest.LabelOfNamespace && !hasPair(work, key, s.Labels[key], r.Home.Labels) {
			return false
		}
	}
	for _, e := range s.Expressions {
		one := &LabelSelector{Selector: &kyverno.Selector{Expressions: []kyverno.SelectorExpression{e}}}
		if e.Key.Text == manifest.LabelOfNamespace && !one.matches(work, r.Home.Labels) {
			return false
		}
	}
	return true
}
