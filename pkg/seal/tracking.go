package seal

import "slices"

// tracking lists the labels and annotations that delivery tools write on every object they apply.
// Names are exact and count only in the listed place; there are no prefixes or patterns. A key that
// is also in the message is compared like any other.
//
// They state the owner, the source or the last applied content. A forged value can make the tool
// delete the object or forget it, as a deletion can, and changes nothing that Kyverno or polex
// reads. Metadata that tells a tool to prune, skip, keep or replace an object is never listed.
var tracking = map[string][]string{
	"annotations": {
		"kubectl.kubernetes.io/last-applied-configuration",
		// Argo CD: common/common.go
		"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/installation-id",
		// kustomize, buildMetadata: api/internal/utils/annotations.go
		"config.kubernetes.io/origin", "alpha.config.kubernetes.io/transformations",
		// Rancher Fleet and k3s: rancher/wrangler pkg/apply/desiredset_apply.go, desiredset_compare.go
		"objectset.rio.cattle.io/id", "objectset.rio.cattle.io/applied", "objectset.rio.cattle.io/owner-gvk",
		"objectset.rio.cattle.io/owner-name", "objectset.rio.cattle.io/owner-namespace",
		// kapp: pkg/kapp/resources/identity_annotation.go, pkg/kapp/diff/resource_with_history.go
		"kapp.k14s.io/identity", "kapp.k14s.io/original", "kapp.k14s.io/original-diff-md5",
		// Config Sync: pkg/metadata/annotations.go; the last one is of cli-utils, and kpt's too
		"configmanagement.gke.io/cluster-name", "configmanagement.gke.io/source-path", "configmanagement.gke.io/token",
		"configsync.gke.io/declared-fields", "configsync.gke.io/git-context", "configsync.gke.io/manager",
		"configsync.gke.io/resource-id", "config.k8s.io/owning-inventory",
	},
	"labels": {
		// Argo CD: the default and the documented application.instanceLabelKey
		"app.kubernetes.io/instance", "argocd.argoproj.io/instance",
		"kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace", // Flux
		"objectset.rio.cattle.io/hash",                 // Rancher Fleet and k3s
		"kapp.k14s.io/app", "kapp.k14s.io/association", // kapp: pkg/kapp/resources/association_label.go
		// Config Sync: pkg/metadata/labels.go; the last one is kubectl's too (apply --applyset)
		"configsync.gke.io/declared-version", "applyset.kubernetes.io/part-of",
	},
}

// trackingValues lists those of Config Sync that have one value. "managed: disabled" stops the sync.
var trackingValues = map[string]map[string]string{
	"annotations": {"configmanagement.gke.io/managed": "enabled"},
	"labels":      {"app.kubernetes.io/managed-by": "configmanagement.gke.io"},
}

// Tracks reports whether a delivery tool writes an annotation or a label on every object that it
// applies. field is "annotations" or "labels".
func Tracks(field, key string, value any) bool {
	fixed, hasFixed := trackingValues[field][key]
	return slices.Contains(tracking[field], key) || hasFixed && value == fixed
}
