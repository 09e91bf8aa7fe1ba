package manifest

import "slices"

// ClusterScopedKinds are the cluster-scoped kinds of Kubernetes, by group. A file with such a kind
// needs no namespace. The scope of custom kinds is not known.
var ClusterScopedKinds = map[string][]string{
	"":                             {"Namespace", "Node", "PersistentVolume"},
	"admissionregistration.k8s.io": {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"},
	"apiextensions.k8s.io":         {"CustomResourceDefinition"},
	"apiregistration.k8s.io":       {"APIService"},
	"certificates.k8s.io":          {"CertificateSigningRequest", "ClusterTrustBundle"},
	"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
	"networking.k8s.io":            {"IngressClass", "IPAddress", "ServiceCIDR"},
	"node.k8s.io":                  {"RuntimeClass"},
	"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding"},
	"resource.k8s.io":              {"DeviceClass", "DeviceTaintRule", "ResourceSlice"},
	"scheduling.k8s.io":            {"PriorityClass"},
	"storage.k8s.io":               {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"},
	"storagemigration.k8s.io":      {"StorageVersionMigration"},
}

// PodControllers are the kinds for which Kyverno generates rules, with their API groups.
var PodControllers = map[string]string{
	"DaemonSet": "apps", "Deployment": "apps", "ReplicaSet": "apps", "StatefulSet": "apps", "ReplicationController": "", "Job": "batch", "CronJob": "batch",
}

// GroupOf returns the group of some common kinds of Kubernetes, "" for others.
func GroupOf(kind string) string {
	for group, kinds := range ClusterScopedKinds {
		if slices.Contains(kinds, kind) {
			return group
		}
	}
	return PodControllers[kind]
}

// MadeKinds are kinds of objects that mostly controllers create. Such objects are not in a
// repository.
var MadeKinds = []string{"Pod", "ReplicaSet", "Job", "ControllerRevision", "Endpoints", "EndpointSlice", "Event"}

// LabelOfNamespace is set on every Namespace and contains its name.
const LabelOfNamespace = "kubernetes.io/metadata.name"
