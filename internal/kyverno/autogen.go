package kyverno

import (
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
)

// This file knows which rules Kyverno 1.19 makes of a rule for Pods, as its
// pkg/autogen/v1 makes them: autogen-<rule> for most controllers of Pods, and
// autogen-cronjob-<rule> for CronJob.

// annotationControllers names the controllers that rules are made for, or none.
const annotationControllers = "pod-policies.kyverno.io/autogen-controllers"

const cronJob = "CronJob"

// What Kyverno puts before the name of a rule that it makes.
const (
	AutogenPrefix        = "autogen-"
	AutogenCronJobPrefix = "autogen-cronjob-"
)

// autogenControllers returns the kinds that rules are made for in a policy, or
// none: one rule that asks for a name or a selector, or that generates, is
// enough for none to be made of any.
func autogenControllers(rules []ruleTree, said exception.Statement) []string {
	needed := false
	for _, r := range rules {
		if r.blocksAutogen() {
			return nil
		}
		for _, f := range slices.Concat(r.match.Filters(), r.exclude.Filters()) {
			if len(f.Named()) > 0 || f.Selector != nil || f.Annotations != nil || len(f.Kinds) > 1 && slices.ContainsFunc(f.Kinds, meansPod) {
				return nil
			}
			needed = needed || slices.ContainsFunc(f.Kinds, func(kind Located) bool {
				_, controller := manifest.PodControllers[kind.Text]
				return controller || kind.Text == "Pod"
			})
		}
	}
	if !needed || said.Text == "none" {
		return nil
	}
	all := []string{"DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet", cronJob}
	if said.Text == "all" || said.Text == "" && said.Other == "" {
		return all
	}
	// Kyverno does not trim: "Job, Deployment" names "Job" alone.
	asked := strings.Split(said.Text, ",")
	return slices.DeleteFunc(all, func(kind string) bool { return !slices.Contains(asked, kind) })
}

// blocksAutogen reports whether a rule does something that cannot be carried
// over to controllers.
func (r ruleTree) blocksAutogen() bool {
	mutate := r.under("mutate")
	each, _ := mutate["foreach"].([]any)
	return len(r.under("generate")) > 0 || slices.ContainsFunc(slices.Concat(each, []any{mutate}), func(item any) bool {
		step, _ := item.(map[string]any)
		patch, _ := step["patchesJson6902"].(string)
		return patch != ""
	})
}

// made returns the names of the rules that are made of one rule, by the kind that each
// is for.
func (r ruleTree) made(name string, controllers []string) map[string]string {
	made := map[string]string{}
	var matched, excluded []Located
	for _, f := range r.match.Filters() {
		matched = append(matched, f.Kinds...)
	}
	for _, f := range r.exclude.Filters() {
		excluded = append(excluded, f.Kinds...)
	}
	if strings.HasPrefix(name, AutogenPrefix) || !r.carriesOver() || !slices.ContainsFunc(matched, meansPod) ||
		len(excluded) > 0 && !slices.ContainsFunc(excluded, meansPod) {
		return made
	}
	for _, kind := range controllers {
		form := AutogenPrefix + name
		if kind == cronJob {
			form = AutogenCronJobPrefix + name
		}
		made[kind] = form[:min(len(form), 63)] // where Kyverno cuts it
	}
	return made
}

// carriesOver reports whether a rule has something that Kyverno writes anew for
// controllers.
func (r ruleTree) carriesOver() bool {
	mutate, validate := r.under("mutate"), r.under("validate")
	each, _ := mutate["foreach"].([]any)
	return mutate["patchStrategicMerge"] != nil || len(each) > 0 || r.tree["verifyImages"] != nil ||
		slices.ContainsFunc([]string{"pattern", "deny", "podSecurity", "anyPattern", "foreach", "cel"}, func(field string) bool { return validate[field] != nil })
}

// meansPod reports whether an entry of kinds names Pod, whatever its version.
func meansPod(kind Located) bool { return ParseKind(kind.Text).Kind == "Pod" }
