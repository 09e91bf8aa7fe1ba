package manifest

import (
	"slices"
	"strings"
)

// ClusterScopedKinds are the kinds of Kubernetes that are in no namespace, by
// their groups, so that a file which says none is understood. Of custom kinds it
// is not known.
var ClusterScopedKinds = map[string][]string{
	"":                             {"Namespace", "Node", "PersistentVolume"},
	"admissionregistration.k8s.io": {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"},
	"apiextensions.k8s.io":         {"CustomResourceDefinition"},
	"apiregistration.k8s.io":       {"APIService"},
	"certificates.k8s.io":          {"CertificateSigningRequest"},
	"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
	"networking.k8s.io":            {"IngressClass", "IPAddress", "ServiceCIDR"},
	"node.k8s.io":                  {"RuntimeClass"},
	"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding"},
	"resource.k8s.io":              {"DeviceClass", "ResourceSlice"},
	"scheduling.k8s.io":            {"PriorityClass"},
	"storage.k8s.io":               {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"},
}

// PodControllers are the kinds that Kyverno makes rules for, with their API groups.
var PodControllers = map[string]string{
	"DaemonSet": "apps", "Deployment": "apps", "ReplicaSet": "apps", "StatefulSet": "apps", "ReplicationController": "", "Job": "batch", "CronJob": "batch",
}

// GroupOf returns the group of a kind of Kubernetes that is often asked for, "" for any
// other.
func GroupOf(kind string) string {
	for group, kinds := range ClusterScopedKinds {
		if slices.Contains(kinds, kind) {
			return group
		}
	}
	return PodControllers[kind]
}

// MadeKinds are kinds whose objects are mostly made by controllers, and then
// are in no repository.
var MadeKinds = []string{"Pod", "ReplicaSet", "Job", "ControllerRevision", "Endpoints", "EndpointSlice", "Event"}

// NameInURLs is what a kind of Kubernetes is called in URLs.
func NameInURLs(kind string) string {
	word := strings.ToLower(kind)
	stem, y := strings.CutSuffix(word, "y")
	switch {
	case y:
		return stem + "ies"
	case word == "endpoints":
		return word
	case strings.HasSuffix(word, "s"):
		return word + "es"
	}
	return word + "s"
}

// LabelOfNamespace is on every Namespace.
const LabelOfNamespace = "kubernetes.io/metadata.name"
