package request

import (
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
)

// objects are manifests, by what they describe.
type objects map[Resource]*exception.Document

// readObjects takes lists apart, as kubectl does. A manifest without a namespace is
// that of any: kubectl or kustomize will say it.
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

// apiVersion returns what a source leaves out: that of a Pod or a controller of
// Pods, or the one that a manifest has. It is "" where nothing says it, or several do.
func (all objects) apiVersion(r Resource) string {
	if r.Kind == kindPod {
		return "v1"
	}
	if w, known := workloads[r.Kind]; known {
		return w.apiVersion
	}
	found := ""
	for _, d := range all {
		id := d.Identity()
		if id.Kind != r.Kind || id.Name != r.Name || id.Namespace != r.Namespace && id.Namespace != "" {
			continue
		}
		if found != "" && found != d.APIVersion() {
			return ""
		}
		found = d.APIVersion()
	}
	return found
}

// labelTemplateHash is what a Deployment puts on its ReplicaSets and their Pods: the
// end of the ReplicaSet's name.
const labelTemplateHash = "pod-template-hash"

// owner returns the workload that a resource was made by, as far up as manifests
// lead, or the resource itself. What a manifest says of its owner counts only when
// the owner could have given the name.
func (all objects) owner(r Resource) Resource {
	for range len("Pod, ReplicaSet, Deployment") { // no cycle leads further
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
		var owner Resource
		owner.APIVersion, _ = tree["apiVersion"].(string)
		owner.Kind, _ = tree["kind"].(string)
		owner.Name, _ = tree["name"].(string)
		owner.Namespace = r.Namespace
		if !subdomainForm.MatchString(owner.Name) {
			return r, false
		}
		if owner.Kind == kindReplicaSet && all.find(owner) == nil {
			if name, isDeployments := strings.CutSuffix(owner.Name, "-"+d.Text("metadata", "labels", labelTemplateHash)); isDeployments {
				owner = Resource{APIVersion: "apps/v1", Kind: kindDeployment, Namespace: r.Namespace, Name: name}
			}
		}
		return owner, owner.makes(r)
	}
	return r, false
}

// container is one container of a Pod or of a Pod's template.
type container struct{ list, image string }

// containers returns those of a resource, each list in its order: the place of a
// container in its list is how messages name it.
func (all objects) containers(r Resource) []container {
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
	var found []container
	for _, list := range containerLists {
		value, _ := d.Lookup(spec.With(list)...)
		trees, _ := value.([]any)
		for _, item := range trees {
			tree, _ := item.(map[string]any)
			image, _ := tree["image"].(string)
			found = append(found, container{list, image})
		}
	}
	return found
}

var containerLists = []string{"containers", "initContainers", "ephemeralContainers"}
