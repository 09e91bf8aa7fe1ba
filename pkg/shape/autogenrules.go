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
	Run: (*subject).autogenRules,
}

func (s *subject) autogenRules() {
	if s.config.Policies == nil || s.isFound(ReasonNeverMatches, nil) {
		return
	}
	taken, all := s.podKinds()
	if len(taken) == 0 || all {
		return
	}
	work := wildcard.NewMeter()
	for _, ref := range s.Refs {
		rules := ref.RuleNames()
		for _, p := range s.config.Policies.Find(ref) {
			if p.OnlyPods && strings.HasSuffix(p.Kind, "ValidatingPolicy") && !p.ReadsOwners {
				left := created(taken, func(kind string) bool { return !slices.Contains(taken, kind) })
				s.leaves(s.whereConditions(), left, fmt.Sprintf("the policy %q", p.Name), "compare object.kind with "+
					quoted(left)+" too")
			}
			for _, r := range p.Rules {
				if !work.Spend(1) {
					return
				}
				if len(r.Made) > 0 && r.NamedBy(work, rules) {
					s.autogenForms(work, ref, r, taken, p.ReadsOwners)
				}
			}
		}
	}
}

// autogenForms looks at one rule, of which some form is named.
func (s *subject) autogenForms(work *wildcard.Meter, ref kyverno.Ref, r kyverno.Rule, taken []string, owners bool) {
	forms, path, named := r.Forms(), ref.RulesPath(), ref.RuleNames()
	var missing, needing, idle, exempt []string
	unnamed := map[string]string{} // forms by kind
	for _, form := range slices.Sorted(maps.Keys(forms)) {
		kinds := slices.DeleteFunc(slices.Clone(forms[form]),
			func(kind string) bool { return !slices.Contains(taken, kind) })
		isNamed := work.FitsAny(named, form)
		for _, kind := range forms[form] {
			if !isNamed {
				unnamed[kind] = form
			}
		}
		switch {
		case len(kinds) > 0 && !isNamed:
			missing, needing = append(missing, form), append(needing, kinds...)
		case isNamed && len(kinds) > 0:
			exempt = append(exempt, kinds...)
		case isNamed && form != r.Name && slices.Contains(named, form):
			idle = append(idle, form)
		}
	}
	if work.Spent() {
		return
	}
	if len(missing) > 0 {
		s.find(ReasonAutogenRules, path, fmt.Sprintf(
			"the exception matches %s, but ruleNames lacks the rule that Kyverno runs for it",
			strings.Join(needing, ", ")),
			"add "+quoted(missing)+" to ruleNames")
	}
	if len(idle) > 0 && slices.Equal(taken, []string{"Pod"}) {
		s.find(ReasonAutogenRules, path.With(slices.Index(named, idle[0])),
			fmt.Sprintf("%s runs for Pod controllers, but the exception matches only Pods", quoted(idle)),
			"add the controllers to kinds, e.g. Deployment, or remove "+quoted(idle)+" from ruleNames")
	}
	left := created(exempt, func(kind string) bool {
		return unnamed[kind] != "" && !slices.Contains(taken, kind) && !owners
	})
	var rules []string
	for _, kind := range left {
		rules = append(rules, unnamed[kind])
	}
	s.leaves(path, left, "the rule "+quoted(rules), "add "+quoted(rules)+" to ruleNames, "+quoted(left)+" to kinds")
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
		s.find(ReasonAutogenRules, path, fmt.Sprintf("the matched controllers create %ss, which the exception does "+
			"not match and %s still denies", strings.Join(left, "s and "), by), hint+", and names such as web-*")
	}
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(out, ", ")
}

// podKinds returns the kinds among Pod and its controllers that the exception matches, sorted. Without
// kinds, it matches all, which another check rejects.
func (s *subject) podKinds() (taken []string, all bool) {
	groups := maps.Clone(manifest.PodControllers)
	groups["Pod"] = ""
	work := wildcard.NewMeter()
	for _, filters := range s.Alternatives(work) {
		if !slices.ContainsFunc(filters, func(f kyverno.Filter) bool { return len(f.Kinds) > 0 }) {
			return nil, true
		}
		for _, f := range filters {
			for _, k := range f.Kinds {
				selector := kyverno.ParseKind(k.Text)
				for kind, group := range groups {
					if !slices.Contains(taken, kind) && selector.Takes(work, group, "v1", kind) {
						taken = append(taken, kind)
					}
				}
			}
		}
	}
	slices.Sort(taken)
	return taken, false
}
