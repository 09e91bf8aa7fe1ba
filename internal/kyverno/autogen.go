package kyverno

import (
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
)

// This file finds the rules that Kyverno 1.19 generates from a rule for Pods (pkg/autogen/v1):
// autogen-<rule> for most controllers of Pods, and autogen-cronjob-<rule> for CronJob.

// annotationControllers lists the controllers that get generated rules, or "none".
const annotationControllers = "pod-policies.kyverno.io/autogen-controllers"

const cronJob = "CronJob"

// The prefixes of the names of generated rules.
const (
	AutogenPrefix        = "autogen-"
	AutogenCronJobPrefix = "autogen-cronjob-"
)

// autogenControllers returns the kinds for which a policy gets generated rules. It returns none if one of the rules
// requires a name or a selector, or generates resources: such a rule stops the generation for the whole policy.
func autogenControllers(rules []ruleTree, said exception.Statement) []string {
	needed := false
	for _, r := range rules {
		if r.blocksAutogen() {
			return nil
		}
		for _, f := range slices.Concat(r.match.Filters(), r.exclude.Filters()) {
			if len(f.Named()) > 0 || f.Selector != nil || f.Annotations != nil ||
				len(f.Kinds) > 1 && slices.ContainsFunc(f.Kinds, meansPod) {
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
	// Kyverno does not trim spaces: "Job, Deployment" contains only "Job".
	asked := strings.Split(said.Text, ",")
	return slices.DeleteFunc(all, func(kind string) bool { return !slices.Contains(asked, kind) })
}

// blocksAutogen reports whether a rule has a part that Kyverno cannot apply to controllers.
func (r ruleTree) blocksAutogen() bool {
	mutate := r.under("mutate")
	each, _ := mutate["foreach"].([]any)
	return len(r.under("generate")) > 0 || slices.ContainsFunc(slices.Concat(each, []any{mutate}), func(item any) bool {
		step, _ := item.(map[string]any)
		patch, _ := step["patchesJson6902"].(string)
		return patch != ""
	})
}

// made returns the names of the rules that are generated from one rule, by their kinds.
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
		made[kind] = form[:min(len(form), 63)] // Kyverno cuts names at this length
	}
	return made
}

// carriesOver reports whether a rule has a part that Kyverno rewrites for controllers.
func (r ruleTree) carriesOver() bool {
	mutate, validate := r.under("mutate"), r.under("validate")
	each, _ := mutate["foreach"].([]any)
	return mutate["patchStrategicMerge"] != nil || len(each) > 0 || r.tree["verifyImages"] != nil ||
		slices.ContainsFunc([]string{"pattern", "deny", "podSecurity", "anyPattern", "foreach", "cel"},
			func(field string) bool { return validate[field] != nil })
}

// meansPod reports whether an entry of kinds names Pod, in any version.
func meansPod(kind Located) bool { return ParseKind(kind.Text).Kind == "Pod" }
