package shape

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonAutogenRules is a reason of findings.
const ReasonAutogenRules = "autogen-rules"

var autogenRulesCheck = check{
	About: "Finds rules for other kinds than the matched ones. From a rule for Pods, Kyverno 1.19 " +
		"generates `autogen-<rule>` for a Deployment and `autogen-cronjob-<rule>` for a CronJob. An exception " +
		"that matches Deployments and names only `<rule>` has no effect on them. One that matches no Pods and names " +
		"only `autogen-<rule>` leaves the Pods of its Deployments denied.",
	Reasons: []Reason{{Name: ReasonAutogenRules, Doc: "the named rules are not the rules for the matched kinds",
		Severity: Warning}},
	Run: func(s *subject) {
		if s.config.Policies == nil || s.isFound(ReasonNeverMatches, nil) {
			return
		}
		taken, all := s.podKinds()
		if len(taken) == 0 || all {
			return
		}
		work := wildcard.NewMeter()
		for _, ref := range s.Refs {
			for _, p := range s.config.Policies.Find(ref) {
				if p.OnlyPods && strings.HasSuffix(p.Kind, "ValidatingPolicy") && !p.ReadsOwners {
					left := created(taken, func(kind string) bool { return !slices.Contains(taken, kind) })
					s.leaves(s.whereConditions(), left, fmt.Sprintf("the policy %q", p.Name),
						"compare object.kind with "+kyverno.Listed(left)+" too")
				}
			}
			for _, r := range s.config.Policies.Rules(work, ref) {
				if len(r.Made) > 0 {
					s.autogenForms(work, ref, r, taken)
				}
			}
		}
	},
}

// autogenForms looks at one rule, of which some form is named.
func (s *subject) autogenForms(work *wildcard.Meter, ref kyverno.Ref, r kyverno.Rule, taken []string) {
	forms, path, named := r.Forms(), ref.RulesPath(), ref.RuleNames()
	var missing, needing, idle, exempt []string
	unnamed := map[string]string{} // forms by kind
	for _, form := range slices.Sorted(maps.Keys(forms)) {
		kinds := slices.DeleteFunc(slices.Clone(forms[form]),
			func(kind string) bool { return !slices.Contains(taken, kind) })
		switch isNamed := work.FitsAny(named, form); {
		case isNamed && len(kinds) > 0:
			exempt = append(exempt, kinds...)
		case isNamed && form != r.Name && slices.Contains(named, form):
			idle = append(idle, form)
		case !isNamed:
			for _, kind := range forms[form] {
				unnamed[kind] = form
			}
			if len(kinds) > 0 {
				missing, needing = append(missing, form), append(needing, kinds...)
			}
		}
	}
	if work.Spent() {
		return
	}
	if len(missing) > 0 {
		s.find(ReasonAutogenRules, path, "add "+kyverno.Listed(missing)+" to ruleNames",
			"the exception matches %s, but ruleNames lacks the rule that Kyverno runs for it",
			strings.Join(needing, ", "))
	}
	if len(idle) > 0 && slices.Equal(taken, []string{"Pod"}) {
		s.find(ReasonAutogenRules, path.With(slices.Index(named, idle[0])), "add the controllers to kinds, e.g. "+
			"Deployment, or remove "+kyverno.Listed(idle)+" from ruleNames",
			"%s runs for Pod controllers, but the exception matches only Pods", kyverno.Listed(idle))
	}
	left := created(exempt, func(kind string) bool {
		return unnamed[kind] != "" && !slices.Contains(taken, kind) && !r.ReadsOwners
	})
	rules := make([]string, len(left))
	for i, kind := range left {
		rules[i] = unnamed[kind]
	}
	s.leaves(path, left, "the rule "+kyverno.Listed(rules), "add "+kyverno.Listed(rules)+" to ruleNames, "+
		kyverno.Listed(left)+" to kinds")
}

// created returns the denied kinds among those that controllers create: Pods, and the Jobs of a CronJob.
func created(controllers []string, denied func(kind string) bool) (left []string) {
	for _, kind := range []string{"Job", "Pod"} {
		if denied(kind) && slices.ContainsFunc(controllers,
			func(by string) bool { return by == "CronJob" || kind == "Pod" && by != kind }) {
			left = append(left, kind)
		}
	}
	return left
}

// leaves warns of the kinds that exempted controllers create, and that stay denied.
func (s *subject) leaves(path exception.Path, left []string, by, hint string) {
	if len(left) > 0 && !s.isFound(reasonUnknownRule, nil) {
		s.find(ReasonAutogenRules, path, hint+", and names such as web-*",
			"the matched controllers create %ss, which the exception does not match and %s still denies",
			strings.Join(left, "s and "), by)
	}
}

// podKinds returns the kinds among Pod and its controllers that the exception matches, sorted. Without
// kinds, it matches all, which another check rejects.
func (s *subject) podKinds() (taken []string, all bool) {
	groups := maps.Clone(manifest.PodControllers)
	groups["Pod"] = ""
	work := wildcard.NewMeter()
	for _, filters := range s.Alternatives(work) {
		var kinds []kyverno.Located
		for _, f := range filters {
			kinds = append(kinds, f.Kinds...)
		}
		if len(kinds) == 0 {
			return nil, true
		}
		for _, k := range kinds {
			selector := kyverno.ParseKind(k.Text)
			for kind, group := range groups {
				if !slices.Contains(taken, kind) && selector.Takes(work, group, "v1", kind) {
					taken = append(taken, kind)
				}
			}
		}
	}
	slices.Sort(taken)
	return taken, false
}
