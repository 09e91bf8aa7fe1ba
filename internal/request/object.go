package request

import (
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
)

// objects are manifests by resource.
type objects map[Resource]*exception.Document

// readObjects reads manifests and the items of lists, as kubectl does. A manifest without a
// namespace applies to every namespace, because kubectl or kustomize sets it later.
func readObjects(docs []*exception.Document) objects {
	all := objects{}
	for _, d := range manifest.Objects(docs) {
		id := d.Identity()
		all[Resource{d.APIVersion(), id.Kind, id.Namespace, id.Name}] = d
	}
	return all
}

func (all objects) find(r Resource) *exception.Document {
	if d := all[r]; d != nil {
		return d
	}
	r.Namespace = ""
	return all[r]
}

// apiVersion returns the API version that a source leaves out: the one of Pods, of their
// controllers, or of the matching manifest. It returns "" for none or several.
func (all objects) apiVersion(r Resource) string {
	if r.Kind == kindPod {
		return "v1"
	}
	if w, known := workloads[r.Kind]; known {
		return w.apiVersion
	}
	version := ""
	for _, d := range all {
		id := d.Identity()
		if id.Kind != r.Kind || id.Name != r.Name || id.Namespace != r.Namespace && id.Namespace != "" {
			continue
		}
		if version != "" && version != d.APIVersion() {
			return ""
		}
		version = d.APIVersion()
	}
	return version
}

// builtInVersions are the API versions of the kinds of Kubernetes that denials are about. Kinds of
// the same name in other groups, such as Service of Knative, need a manifest.
var builtInVersions = map[string]string{
	"ConfigMap": "v1", "LimitRange": "v1", "Namespace": "v1", "PersistentVolume": "v1", "PersistentVolumeClaim": "v1",
	"ResourceQuota": "v1", "Secret": "v1", "Service": "v1", "ServiceAccount": "v1",
	"HorizontalPodAutoscaler": "autoscaling/v2", "PodDisruptionBudget": "policy/v1",
	"StorageClass": "storage.k8s.io/v1",
	"Ingress":      "networking.k8s.io/v1", "IngressClass": "networking.k8s.io/v1",
	"NetworkPolicy": "networking.k8s.io/v1",
	"ClusterRole":   "rbac.authorization.k8s.io/v1", "ClusterRoleBinding": "rbac.authorization.k8s.io/v1",
	"Role": "rbac.authorization.k8s.io/v1", "RoleBinding": "rbac.authorization.k8s.io/v1",
	"CustomResourceDefinition": "apiextensions.k8s.io/v1",
}

// labelTemplateHash is the label of a Deployment for its ReplicaSets and their Pods. Its value is
// the end of the ReplicaSet's name.
const labelTemplateHash = "pod-template-hash"

// owner returns the topmost owner of a resource according to the manifests, or the resource itself.
// An owner counts only if it could have generated the name of the resource.
func (all objects) owner(r Resource) Resource {
	for range len("Pod, ReplicaSet, Deployment") { // the limit stops cycles
		next, ok := all.controller(r)
		if !ok {
			return r
		}
		r = next
	}
	return r
}

func (all objects) controller(r Resource) (Resource, bool) {
	d := all.find(r)
	if d == nil {
		return r, false
	}
	owners, _ := d.Lookup("metadata", "ownerReferences")
	list, _ := owners.([]any)
	for _, item := range list {
		tree, _ := item.(map[string]any)
		if tree["controller"] != true {
			continue
		}
		owner := resourceOf(tree)
		owner.Namespace = r.Namespace
		if !subdomainForm.MatchString(owner.Name) {
			return r, false
		}
		if owner.Kind == kindReplicaSet && all.find(owner) == nil {
			hash := d.Text("metadata", "labels", labelTemplateHash)
			if name, isDeployments := strings.CutSuffix(owner.Name, "-"+hash); isDeployments {
				owner = Resource{APIVersion: "apps/v1", Kind: kindDeployment, Namespace: r.Namespace, Name: name}
			}
		}
		return owner, owner.makes(r)
	}
	return r, false
}

// place is the position of a container in its list. Messages name a container by it.
type place struct {
	list  string
	index int
}

// images returns the images of the containers of a resource.
func (all objects) images(r Resource) map[place]string {
	d := all.find(r)
	if d == nil {
		return nil
	}
	spec := exception.Path{"spec"}
	switch {
	case r.Kind == kindCronJob:
		spec = exception.Path{"spec", "jobTemplate", "spec", "template", "spec"}
	case r.isWorkload():
		spec = exception.Path{"spec", "template", "spec"}
	}
	images := map[place]string{}
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		value, _ := d.Lookup(spec.With(list)...)
		containers, _ := value.([]any)
		for i, container := range containers {
			images[place{list, i}] = textOf(container, "image")
		}
	}
	return images
}

// textOf returns the text of a key in an object, or "".
func textOf(object any, key string) string {
	tree, _ := object.(map[string]any)
	text, _ := tree[key].(string)
	return text
}
