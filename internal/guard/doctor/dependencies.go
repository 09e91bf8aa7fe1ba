package doctor

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The resources that the guard, Kyverno, the API server or this check rely on to keep exceptions, besides
// the signed kinds. Their groups must not be served elsewhere, and nothing else should change their
// objects. policies/guard/protect/definitions.yaml has the same groups, and a test compares them.
var (
	// believed are what the guard acts by, in its namespace: its configuration, certificate and Lease.
	believed = resources("configmaps secrets leases.coordination.k8s.io")
	// running are the programs of the guard and of Kyverno, their rights, and the way to them, in their
	// namespaces.
	running = resources(`pods services serviceaccounts deployments.apps deployments/scale.apps replicasets.apps
		endpointslices.discovery.k8s.io roles.rbac.authorization.k8s.io rolebindings.rbac.authorization.k8s.io`)
	// clusterWide are rights, the limits of requests, what exceptions are, who serves and admits them, and
	// the policies that they exempt from.
	clusterWide = resources(`namespaces
		clusterroles.rbac.authorization.k8s.io clusterrolebindings.rbac.authorization.k8s.io
		tokenreviews.authentication.k8s.io
		selfsubjectaccessreviews.authorization.k8s.io subjectaccessreviews.authorization.k8s.io
		flowschemas.flowcontrol.apiserver.k8s.io prioritylevelconfigurations.flowcontrol.apiserver.k8s.io
		customresourcedefinitions.apiextensions.k8s.io customresourcedefinitions/status.apiextensions.k8s.io
		apiservices.apiregistration.k8s.io
		validatingwebhookconfigurations.admissionregistration.k8s.io
		mutatingwebhookconfigurations.admissionregistration.k8s.io
		clusterpolicies.kyverno.io
		validatingpolicies.policies.kyverno.io imagevalidatingpolicies.policies.kyverno.io
		mutatingpolicies.policies.kyverno.io generatingpolicies.policies.kyverno.io
		deletingpolicies.policies.kyverno.io`)
	events = resources("events.events.k8s.io")
	// reports tell of decisions and have no effect on them. Kyverno's reports-server may serve them.
	reports = resources("reports.openreports.io policyreports.wgpolicyk8s.io")
)

// resources reads resources and subresources with their groups.
func resources(text string) (list []schema.GroupResource) {
	for name := range strings.FieldsSeq(text) {
		list = append(list, schema.ParseGroupResource(name))
	}
	return list
}

// groups returns the API groups of the dependencies, and the outcome if another server answers for them.
func (k *checkup) groups() map[string]Outcome {
	groups := map[string]Outcome{}
	for _, r := range reports {
		groups[r.Group] = Doubtful
	}
	for _, r := range slices.Concat(believed, running, clusterWide, events) {
		groups[r.Group] = Wrong
	}
	for _, gk := range k.Kinds {
		groups[gk.Group] = Wrong
	}
	return groups
}
