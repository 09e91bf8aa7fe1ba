package shape

import (
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/manifest"
)

// This file knows which rules Kyverno 1.19 makes of a rule for Pods, as its
// pkg/autogen/v1 makes them: autogen-<rule> for most controllers of Pods, and
// autogen-cronjob-<rule> for CronJob.

// annotationControllers names the controllers that rules are made for, or none.
const annotationControllers = "pod-policies.kyverno.io/autogen-controllers"

const cronJob = "CronJob"

// autogenControllers returns the kinds that rules are made for in a policy, or
// none: one rule that asks for a name or a selector, or that generates, is
// enough for none to be made of any.
func autogenControllers(rules []any, d *exception.Document) []string {
	needed := false
	for _, item := range rules {
		tree, _ := item.(map[string]any)
		if blocksAutogen(tree) {
			return nil
		}
		for _, side := range []string{"match", "exclude"} {
			for _, resources := range descriptions(tree[side]) {
				kinds := manifest.Words(resources["kinds"])
				if name, _ := resources["name"].(string); name != "" || len(manifest.Words(resources["names"])) > 0 || resources["selector"] != nil || resources["annotations"] != nil ||
					len(kinds) > 1 && slices.ContainsFunc(kinds, meansPod) {
					return nil
				}
				needed = needed || slices.ContainsFunc(kinds, func(kind string) bool {
					_, controller := manifest.PodControllers[kind]
					return controller || kind == "Pod"
				})
			}
		}
	}
	if !needed {
		return nil
	}
	all := []string{"DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet", cronJob}
	said, isSaid := d.Lookup("metadata", "annotations", annotationControllers)
	text, _ := said.(string)
	switch {
	case !isSaid || text == "all":
		return all
	case text == "none":
		return nil
	}
	// Kyverno does not trim: "Job, Deployment" names "Job" alone.
	asked := strings.Split(text, ",")
	return slices.DeleteFunc(all, func(kind string) bool { return !slices.Contains(asked, kind) })
}

// blocksAutogen reports whether a rule does something that cannot be carried
// over to controllers.
func blocksAutogen(rule map[string]any) bool {
	if generate, _ := rule["generate"].(map[string]any); len(generate) > 0 {
		return true
	}
	mutate, _ := rule["mutate"].(map[string]any)
	each, _ := mutate["foreach"].([]any)
	for _, item := range slices.Concat(each, []any{mutate}) {
		step, _ := item.(map[string]any)
		if patch, _ := step["patchesJson6902"].(string); patch != "" {
			return true
		}
	}
	return false
}

// autogenRules returns the rules that are made of one rule, with the kinds that
// each is for.
func autogenRules(tree map[string]any, name string, controllers []string) map[string][]string {
	var matched, excluded []string
	for _, resources := range descriptions(tree["match"]) {
		matched = append(matched, manifest.Words(resources["kinds"])...)
	}
	for _, resources := range descriptions(tree["exclude"]) {
		excluded = append(excluded, manifest.Words(resources["kinds"])...)
	}
	if strings.HasPrefix(name, "autogen-") || !carriesOver(tree) || !slices.ContainsFunc(matched, meansPod) ||
		len(excluded) > 0 && !slices.ContainsFunc(excluded, meansPod) {
		return nil
	}
	made := map[string][]string{}
	for _, kind := range controllers {
		form := autogenName("autogen-", name)
		if kind == cronJob {
			form = autogenName("autogen-cronjob-", name)
		}
		made[form] = append(made[form], kind)
	}
	return made
}

// carriesOver reports whether a rule has something that Kyverno writes anew for
// controllers.
func carriesOver(tree map[string]any) bool {
	mutate, _ := tree["mutate"].(map[string]any)
	validate, _ := tree["validate"].(map[string]any)
	each, _ := mutate["foreach"].([]any)
	return mutate["patchStrategicMerge"] != nil || len(each) > 0 || tree["verifyImages"] != nil ||
		slices.ContainsFunc([]string{"pattern", "deny", "podSecurity", "anyPattern", "foreach", "cel"}, func(field string) bool { return validate[field] != nil })
}

// autogenName cuts a name where Kyverno cuts it.
func autogenName(prefix, name string) string {
	name = prefix + name
	return name[:min(len(name), 63)]
}

// descriptions returns the descriptions of resources in a rule's match or
// exclude, among them the old form without any or all.
func descriptions(value any) []map[string]any {
	block, _ := value.(map[string]any)
	anyOf, _ := block["any"].([]any)
	allOf, _ := block["all"].([]any)
	var found []map[string]any
	for _, item := range slices.Concat([]any{block}, anyOf, allOf) {
		filter, _ := item.(map[string]any)
		if resources, ok := filter["resources"].(map[string]any); ok {
			found = append(found, resources)
		}
	}
	return found
}

// meansPod reports whether an entry of kinds names Pod, whatever its version.
func meansPod(kind string) bool {
	return kyverno.ParseKind(kind).Kind == "Pod"
}
