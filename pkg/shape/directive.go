package shape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

const reasonDeployerDirective = "deployer-directive"

var directiveCheck = check{
	About: "Finds a label or annotation that tells a delivery tool to keep the exception after its file is removed, " +
		"to apply it only once, or not at all, such as `Prune=false`. Ordering such as `sync-wave` is allowed.",
	Reasons: []Reason{{Name: reasonDeployerDirective,
		Doc: "a delivery tool would keep the exception, or not apply it"}},
	Run: (*subject).directive,
}

// The effects of directives.
const (
	keeps = "keep the exception after its file is removed"
	omits = "leave the exception out"
	once  = "apply the exception once, and never again"
)

// directives is a closed list by key and value. Field "" is both. values are those with the effect, nil for all;
// except is one without.
var directives = []struct {
	tool, field, key string
	values           []string
	except           string
	effect           string
}{
	// argo-cd 3.2: gitops-engine pkg/sync/common/types.go and pkg/sync/hook/hook.go, controller/state.go
	{tool: "Argo CD", field: "annotations", key: "argocd.argoproj.io/sync-options", effect: keeps,
		values: []string{"Prune=false", "Prune=confirm", "Delete=false", "Delete=confirm"}},
	{tool: "Argo CD", field: "annotations", key: "argocd.argoproj.io/compare-options", effect: keeps,
		values: []string{"IgnoreExtraneous"}},
	{tool: "Argo CD", field: "annotations", key: "argocd.argoproj.io/hook", values: []string{"Skip"}, effect: omits},
	{tool: "Argo CD", field: "annotations", key: "argocd.argoproj.io/hook",
		effect: "take the exception for a hook, which it neither tracks nor prunes"},
	// kustomize-controller 1.9: internal/controller/kustomization_controller.go
	{tool: "Flux", key: "kustomize.toolkit.fluxcd.io/prune", values: []string{"disabled"}, effect: keeps},
	{tool: "Flux", key: "kustomize.toolkit.fluxcd.io/reconcile", values: []string{"disabled"}, effect: omits},
	{tool: "Flux", key: "kustomize.toolkit.fluxcd.io/ssa", values: []string{"Ignore"}, effect: omits},
	{tool: "Flux", key: "kustomize.toolkit.fluxcd.io/ssa", values: []string{"IfNotPresent"}, effect: once},
	// helm 4: pkg/action/resource_policy.go, which keeps an object with any value, and pkg/release/v1/hook.go
	{tool: "Helm", field: "annotations", key: "helm.sh/resource-policy", effect: keeps},
	{tool: "Helm", field: "annotations", key: "helm.sh/hook",
		effect: "take the exception for a hook, which it does not delete"},
	// kustomize: api/resource/factory.go
	{tool: "kustomize", field: "annotations", key: "config.kubernetes.io/local-config", except: "false", effect: omits},
	// cli-utils: pkg/common/common.go; kpt and Config Sync use it. Config Sync: pkg/metadata/annotations.go
	{tool: "cli-utils", field: "annotations", key: "client.lifecycle.config.k8s.io/deletion",
		values: []string{"detach"}, effect: keeps},
	{tool: "cli-utils", field: "annotations", key: "cli-utils.sigs.k8s.io/on-remove", values: []string{"keep"},
		effect: keeps},
	{tool: "Config Sync", field: "annotations", key: "client.lifecycle.config.k8s.io/mutation",
		values: []string{"ignore"}, effect: once},
	{tool: "Config Sync", field: "annotations", key: "configmanagement.gke.io/managed", values: []string{"disabled"},
		effect: omits},
	// kapp 0.64: pkg/kapp/clusterapply, cmd/app/delete.go, resources/labeled_resources.go and diff
	{tool: "kapp", field: "annotations", key: "kapp.k14s.io/delete-strategy", values: []string{"orphan"},
		effect: keeps},
	{tool: "kapp", field: "annotations", key: "kapp.k14s.io/owned-for-deletion", effect: keeps},
	{tool: "kapp", field: "annotations", key: "kapp.k14s.io/exists", effect: omits},
	{tool: "kapp", field: "annotations", key: "kapp.k14s.io/noop", effect: omits},
	{tool: "kapp", field: "annotations", key: "kapp.k14s.io/update-strategy", values: []string{"skip"}, effect: once},
	{tool: "kapp", field: "annotations", key: "kapp.k14s.io/versioned", effect: "rename the exception"},
	// wrangler 3: pkg/apply/desiredset_process.go
	{tool: "Rancher Fleet", field: "labels", key: "objectset.rio.cattle.io/prune", values: []string{"false"},
		effect: keeps},
	// kubernetes: cluster/addons/addon-manager/README.md
	{tool: "the addon manager", field: "labels", key: "addonmanager.kubernetes.io/mode",
		values: []string{"EnsureExists"}, effect: once},
}

// Directive returns the tool that a label or annotation tells what to do, and what; "" if it is not a directive.
// field is "labels" or "annotations". A value is read as Argo CD reads it, a list with commas; letter case does not
// count, as in Flux and Helm.
func Directive(field, key string, value any) (tool, effect string) {
	text, _ := value.(string)
	for _, d := range directives {
		if d.key != key || d.field != "" && d.field != field || d.except != "" && text == d.except {
			continue
		}
		for item := range strings.SplitSeq(text, ",") {
			has := func(v string) bool { return strings.EqualFold(v, strings.TrimSpace(item)) }
			if d.values == nil || slices.ContainsFunc(d.values, has) {
				return d.tool, d.effect
			}
		}
	}
	return "", ""
}

func (s *subject) directive() {
	s.metadata(func(field, key string, value any, path exception.Path) {
		if tool, effect := Directive(field, key, value); effect != "" {
			s.find(reasonDeployerDirective, path, fmt.Sprintf("the %s %s: %q tells %s to %s",
				strings.TrimSuffix(field, "s"), key, exception.Shortened(fmt.Sprint(value)), tool, effect), "remove it")
		}
	})
}
