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
	About: "Finds an exception that names rules for other kinds than it matches. From a rule for Pods, Kyverno 1.19 " +
		"generates `autogen-<rule>` for a Deployment and `autogen-cronjob-<rule>` for a CronJob. An exception " +
		"that matches Deployments and names only `<rule>` has no effect on them. Nor has one that matches Pods " +
		"and names only `autogen-<rule>`.",
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
			for _, r := range p.Rules {
				if !work.Spend(1) {
					return
				}
				if len(r.Made) > 0 && r.NamedBy(work, rules) {
					s.autogenForms(work, ref.RulesPath(), rules, r, taken)
				}
			}
		}
	}
}

// autogenForms looks at one rule, of which some form is named.
func (s *subject) autogenForms(work *wildcard.Meter, path exception.Path, named []string, r kyverno.Rule,
	taken []string) {
	forms := r.Forms()
	var missing, needing, idle []string
	for _, form := range slices.Sorted(maps.Keys(forms)) {
		kinds := slices.DeleteFunc(slices.Clone(forms[form]),
			func(kind string) bool { return !slices.Contains(taken, kind) })
		switch isNamed := work.FitsAny(named, form); {
		case len(kinds) > 0 && !isNamed:
			missing, needing = append(missing, form), append(needing, kinds...)
		case len(kinds) == 0 && isNamed && form != r.Name && slices.Contains(named, form):
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
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(out, ", ")
}

// podKinds returns the kinds among Pod and its controllers that the match matches, sorted. A filter
// without kinds matches all, which another check rejects.
func (s *subject) podKinds() (taken []string, all bool) {
	groups := maps.Clone(manifest.PodControllers)
	groups["Pod"] = ""
	work := wildcard.NewMeter()
	for _, f := range s.Match.Filters() {
		if len(f.Kinds) == 0 {
			return nil, true
		}
		for _, k := range f.Kinds {
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
