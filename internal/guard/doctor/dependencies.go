package doctor

import (
	"maps"
	"slices"
)

// place is where the objects of a resource count.
type place int

const (
	everywhere place = iota // in each namespace, or outside of namespaces
	guardOnly
	guardAndKyverno
)

// dependency is a resource that the guard, Kyverno, the API server or this check rely on to keep
// exceptions. Its group must not be served elsewhere, and nothing else should change its objects.
type dependency struct {
	group, resource string
	namespaced      bool
	place           place
	// believed means that a program acts by the content of these objects in the namespace of the guard,
	// so a change of them is wrong, and not only doubtful.
	believed bool
	// reported means that the objects tell of decisions and have no effect on them. Another server,
	// such as Kyverno's reports-server, may answer for the group.
	reported bool
}

// dependencies are all of them, besides the signed kinds. policies/guard/protect/definitions.yaml has
// the same groups, and a test compares them.
var dependencies = []dependency{
	// The configuration, the certificate and the Lease of the guard; those of Kyverno.
	{group: "", resource: "configmaps", namespaced: true, place: guardAndKyverno, believed: true},
	{group: "", resource: "secrets", namespaced: true, place: guardAndKyverno, believed: true},
	{group: "coordination.k8s.io", resource: "leases", namespaced: true, place: guardOnly, believed: true},
	// Their programs, and the way to them.
	{group: "", resource: "pods", namespaced: true, place: guardAndKyverno},
	{group: "", resource: "services", namespaced: true, place: guardAndKyverno},
	{group: "", resource: "serviceaccounts", namespaced: true, place: guardAndKyverno},
	{group: "apps", resource: "deployments", namespaced: true, place: guardAndKyverno},
	{group: "apps", resource: "replicasets", namespaced: true, place: guardAndKyverno},
	{group: "discovery.k8s.io", resource: "endpointslices", namespaced: true, place: guardAndKyverno},
	// Their rights, and the limits of their requests.
	{group: "rbac.authorization.k8s.io", resource: "roles", namespaced: true, place: guardAndKyverno},
	{group: "rbac.authorization.k8s.io", resource: "rolebindings", namespaced: true, place: guardAndKyverno},
	{group: "rbac.authorization.k8s.io", resource: "clusterroles"},
	{group: "rbac.authorization.k8s.io", resource: "clusterrolebindings"},
	{group: "authentication.k8s.io", resource: "tokenreviews"},
	{group: "authorization.k8s.io", resource: "selfsubjectaccessreviews"},
	{group: "authorization.k8s.io", resource: "subjectaccessreviews"},
	{group: "flowcontrol.apiserver.k8s.io", resource: "flowschemas"},
	{group: "flowcontrol.apiserver.k8s.io", resource: "prioritylevelconfigurations"},
	// What exceptions are, who serves them, who is asked about them, and the policies that they exempt from.
	{group: "", resource: "namespaces"},
	{group: "apiextensions.k8s.io", resource: "customresourcedefinitions"},
	{group: "apiregistration.k8s.io", resource: "apiservices"},
	{group: "admissionregistration.k8s.io", resource: "validatingwebhookconfigurations"},
	{group: "admissionregistration.k8s.io", resource: "mutatingwebhookconfigurations"},
	{group: "kyverno.io", resource: "clusterpolicies"},
	{group: "policies.kyverno.io", resource: "validatingpolicies"},
	{group: "policies.kyverno.io", resource: "imagevalidatingpolicies"},
	{group: "policies.kyverno.io", resource: "mutatingpolicies"},
	{group: "policies.kyverno.io", resource: "generatingpolicies"},
	{group: "policies.kyverno.io", resource: "deletingpolicies"},
	// The findings.
	{group: "events.k8s.io", resource: "events", namespaced: true},
	{group: "openreports.io", resource: "reports", namespaced: true, reported: true},
	{group: "wgpolicyk8s.io", resource: "policyreports", namespaced: true, reported: true},
}

// groups returns the API groups of the dependencies, and the outcome if another server answers for them.
func (k *checkup) groups() map[string]Outcome {
	groups := map[string]Outcome{}
	for _, d := range dependencies {
		groups[d.group] = Wrong
		if d.reported {
			groups[d.group] = Doubtful
		}
	}
	for _, gk := range k.Kinds {
		groups[gk.Group] = Wrong
	}
	return groups
}

// protectedGroups are the groups in policies/guard/protect/definitions.yaml.
func protectedGroups() []string {
	groups := (&checkup{}).groups()
	maps.DeleteFunc(groups, func(_ string, o Outcome) bool { return o != Wrong })
	return slices.Sorted(maps.Keys(groups))
}
