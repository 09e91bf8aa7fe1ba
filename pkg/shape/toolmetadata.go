package shape

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// ReasonToolMetadata is a reason of findings.
const ReasonToolMetadata = "tool-metadata"

var toolMetadataCheck = check{
	About: "Finds a label or annotation that delivery tools write, as in an exported exception, or that " +
		"`trust.allowedMetadata` lists. The tool writes its own value, and the live exception is " +
		"[altered](#altered). `app.kubernetes.io/instance` counts: Argo CD can track by it. " +
		"`polex-validate --fix` removes them.",
	Reasons: []Reason{{Name: ReasonToolMetadata, Doc: "a delivery tool writes this label or annotation"}},
	Run:     (*subject).toolMetadata,
}

// toolKeys lists what tools write besides [seal.Tracks], by key. A key that ends with "*" is a prefix, and one
// with "=" has this value.
var toolKeys = []struct{ tool, key string }{
	{"Helm", "meta.helm.sh/*"}, // pkg/action/validate.go, and charts
	{"Helm", "app.kubernetes.io/managed-by=Helm"},
	{"Helm", "helm.sh/*"},
	{"Flux", "helm.toolkit.fluxcd.io/name"}, // helm-controller: internal/postrender
	{"Flux", "helm.toolkit.fluxcd.io/namespace"},
	{"Flux", "kustomize.toolkit.fluxcd.io/checksum"}, // kustomize-controller removes these three
	{"Flux", "fluxcd.io/sync-checksum"},
	{"Flux", "fluxcd.io/sync-gc-mark"},
	{"Flux", "reconcile.fluxcd.io/*"},                // fluxcd/pkg apis/meta/annotations.go
	{"Argo CD", "applications.argoproj.io/app-name"}, // up to 0.10: common/common.go
	{"kustomize", "config.kubernetes.io/*"},          // kyaml kio/kioutil/kioutil.go
	{"kustomize", "internal.config.kubernetes.io/*"},
	{"kustomize", "config.k8s.io/*"},
	{"kustomize", "app.kubernetes.io/managed-by=kustomize-*"}, // api/krusty/options.go
	{"kubectl", "kubectl.kubernetes.io/restartedAt"},          // kubectl pkg/polymorphichelpers/objectrestarter.go
	{"kapp", "kapp.k14s.io/original*"},                        // pkg/kapp/diff/resource_with_history.go
	{"kapp", "kapp.k14s.io/nonce"},                            // pkg/kapp/app/preparation.go
	{"kapp", "kapp.k14s.io/orphaned"},                         // pkg/kapp/clusterapply/delete_change.go
	{"Rancher Fleet", "objectset.rio.cattle.io/*"},            // wrangler pkg/apply/desiredset_apply.go
	{"Config Sync", "configsync.gke.io/*"},                    // pkg/metadata/annotations.go
}

// trackers are the tools of [seal.Tracks], by the domain of the key.
var trackers = map[string]string{
	"argocd.argoproj.io": "Argo CD", "app.kubernetes.io": "Argo CD", "kustomize.toolkit.fluxcd.io": "Flux",
	"kubectl.kubernetes.io": "kubectl", "applyset.kubernetes.io": "kubectl", "kapp.k14s.io": "kapp",
	"alpha.config.kubernetes.io": "kustomize", "configmanagement.gke.io": "Config Sync",
}

// byPeople are keys under a prefix of toolKeys that people write.
var byPeople = []string{"config.kubernetes.io/depends-on", "config.kubernetes.io/local-config"}

// MetadataWriter returns the tool that writes a label or annotation on delivered objects, or the setting that says
// so; "" if a person wrote it. field is "labels" or "annotations".
func MetadataWriter(field, key string, value any, allowed policyfile.AllowedMetadata) string {
	setting := map[string]map[string]string{"labels": allowed.Labels, "annotations": allowed.Annotations}[field]
	if _, listed := setting[key]; listed {
		return "a tool of trust.allowedMetadata"
	}
	text, _ := value.(string)
	for _, of := range toolKeys {
		name, fixed, hasValue := strings.Cut(of.key, "=")
		if fits(name, key) && (!hasValue || fits(fixed, text)) && !slices.Contains(byPeople, key) {
			return of.tool
		}
	}
	if seal.Tracks(field, key, value) {
		domain, _, _ := strings.Cut(key, "/")
		return cmp.Or(policyfile.WriterOf(key, text), trackers[domain], "a delivery tool")
	}
	return ""
}

// fits reports whether a text is a pattern, or begins with the part before its "*".
func fits(pattern, text string) bool {
	prefix, open := strings.CutSuffix(pattern, "*")
	return text == pattern || open && strings.HasPrefix(text, prefix)
}

func (s *subject) toolMetadata() {
	s.metadata(func(field, key string, value any, path exception.Path) {
		tool := MetadataWriter(field, key, value, s.config.Allowed)
		if _, effect := Directive(field, key, value); tool == "" || effect != "" {
			return
		}
		s.find(ReasonToolMetadata, path, fmt.Sprintf("%s writes the %s %q itself, so the live object would differ "+
			"from the signed one", tool, strings.TrimSuffix(field, "s"), key),
			"remove it; polex-validate --fix removes all metadata of tools")
	})
}

// metadata calls a function for each label and annotation of a request, in the order of the keys. A signed object
// may have metadata of tools.
func (s *subject) metadata(each func(field, key string, value any, path exception.Path)) {
	if len(manifest.SignatureKeys(s.Doc)) > 0 {
		return
	}
	for _, field := range []string{"annotations", "labels"} {
		value, _ := s.Doc.Lookup("metadata", field)
		keys, _ := value.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			each(field, key, keys[key], exception.Path{"metadata", field, key})
		}
	}
}
