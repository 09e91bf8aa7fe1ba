package manifest

import (
	_ "embed" // for kinds.txt
	"maps"
	"slices"
	"strings"
)

//go:embed kinds.txt
var kindsTable string

// ClusterScopedKinds are the cluster-scoped kinds of Kubernetes, by group. A file with such a kind needs no namespace.
// The scope of custom kinds is not known.
var ClusterScopedKinds = readKinds("cluster")

var namespacedKinds = readKinds("namespaced")

func readKinds(scope string) map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(kindsTable) {
		if words := strings.Fields(line); len(words) > 2 && words[0] == scope {
			all[strings.TrimPrefix(words[1], "-")] = words[2:]
		}
	}
	return all
}

// Kinds returns the names of all kinds of Kubernetes, sorted.
func Kinds() []string {
	byGroup := slices.AppendSeq(slices.Collect(maps.Values(ClusterScopedKinds)), maps.Values(namespacedKinds))
	all := slices.Concat(byGroup...)
	slices.Sort(all)
	return slices.Compact(all)
}

// otherScopes are the names of cluster-scoped kinds that well-known custom resources give to
// namespaced ones: longhorn.io has a Node and a VolumeAttachment, ipam.cluster.x-k8s.io an IPAddress.
var otherScopes = []string{"Node", "VolumeAttachment", "IPAddress"}

// IsClusterScoped reports whether objects of a kind are known to have no namespace. The group "*" is any group.
func IsClusterScoped(group, kind string) bool {
	if group != "*" {
		return slices.Contains(ClusterScopedKinds[group], kind)
	}
	return !slices.Contains(otherScopes, kind) && GroupOfClusterScoped(kind) != "*"
}

// GroupOfClusterScoped returns the group of a cluster-scoped kind of Kubernetes, or "*".
func GroupOfClusterScoped(kind string) string {
	for group, kinds := range ClusterScopedKinds {
		if slices.Contains(kinds, kind) {
			return group
		}
	}
	return "*"
}

// KindOf returns the kind of a resource of Kubernetes, such as Pod for pods, or "" if it is not known.
func KindOf(group, resource string) string {
	for _, kind := range slices.Concat(ClusterScopedKinds[group], namespacedKinds[group]) {
		if Plural(kind) == resource {
			return kind
		}
	}
	return ""
}

// byResource has the kinds of each resource of Kubernetes in any group, and resources the resource by its name and the
// name of its kind in lower case.
var byResource, resources = readResources()

func readResources() (kinds map[string][]string, names map[string]string) {
	kinds, names = map[string][]string{}, map[string]string{}
	for _, kind := range Kinds() {
		resource := Plural(kind)
		kinds[resource] = append(kinds[resource], kind)
		names[resource], names[strings.ToLower(kind)] = resource, resource
	}
	return kinds, names
}

// KindsOf returns the kinds of a resource of Kubernetes in any group.
func KindsOf(resource string) []string { return byResource[resource] }

// ResourceLike returns the resource of Kubernetes that a text names in another letter case or as a kind, or "".
func ResourceLike(text string) string {
	if resource := resources[strings.ToLower(text)]; resource != text {
		return resource
	}
	return ""
}

// inV1 are groups that Kubernetes serves as v1 alone.
var inV1 = []string{"", "apps", "batch", "policy", "rbac.authorization.k8s.io"}

// Served returns the form group/version/kind of a kind of Kubernetes, if no release since 1.25 serves it
// as the given group and version. It returns "" for patterns, and for what may be a custom resource: the
// group of one has a dot and does not end with k8s.io.
func Served(group, version, kind string) string {
	custom := strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
	if custom || strings.ContainsAny(group+version, "*?") {
		return ""
	}
	right, isRight := []string{}, false
	for _, groups := range []map[string][]string{ClusterScopedKinds, namespacedKinds} {
		for other, kinds := range groups {
			if slices.Contains(kinds, kind) {
				right, isRight = append(right, other), isRight || other == group
			}
		}
	}
	if len(right) != 1 || isRight && (version == "v1" || !slices.Contains(inV1, group)) {
		return ""
	}
	version = "*"
	if slices.Contains(inV1, right[0]) || right[0] == "networking.k8s.io" {
		version = "v1"
	}
	return strings.TrimPrefix(right[0]+"/"+version+"/"+kind, "/")
}

// Plural returns the name of the resource of a kind, as Kubernetes forms it for its own kinds.
func Plural(kind string) string {
	name := strings.ToLower(kind)
	stem, hasY := strings.CutSuffix(name, "y")
	switch {
	case name == "endpoints":
		return name
	case hasY && !strings.ContainsAny(name[len(stem)-1:len(stem)], "aeiou"):
		return stem + "ies"
	case strings.HasSuffix(name, "s"):
		return name + "es"
	}
	return name + "s"
}
