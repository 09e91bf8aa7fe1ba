package shape

import (
	"cmp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Reasons of findings.
const (
	ReasonNeverMatches       = "never-matches"
	reasonUselessPodSecurity = "useless-pod-security"
)

var neverMatchesCheck = check{
	Title: "Effect",
	About: "Finds an exception, or a part of one, that has no effect in Kyverno:\n\n" +
		"- A filter contradicts itself or `spec.conditions`, lists namespaces for a kind without one, or names that " +
		"no resource has.\n" +
		"- With `--policies`: no named rule is about the kinds, names or namespaces of the filter, or all exclude " +
		"them. A rule about `Pod/exec` is not about Pods, and a Policy is about its own namespace.\n" +
		"- A match condition compares a name with a pattern, a bool with a text, or reads a field that objects do " +
		"not have.\n" +
		"- `spec.conditions` reads a variable that does not exist, a key without braces, an operation in lower case, " +
		"or the sender in background scans.\n" +
		"- No named rule checks the control or field of `podSecurity`, or no policy reads `images` or " +
		"`allowedValues`.",
	Reasons: []Reason{{Name: ReasonNeverMatches, Doc: "the exception, or a part of it, can have no effect",
		Milder: true}},
	Run: func(s *subject) {
		s.mistakes()
		if len(s.Unread) > 0 || s.counts[ReasonReachesGuard] > 0 {
			return // it is not known how Kyverno reads it, or it is refused anyway
		}
		if problem := s.PreconditionProblem(s.isSetByRules, s.scanned()); problem != nil {
			s.find(ReasonNeverMatches, problem.Path, problem.Hint, "%s", problem.Message)
		}
		work := wildcard.NewMeter()
		all := s.Alternatives(work)
		alternatives := slices.DeleteFunc(slices.Clone(all),
			func(filters []kyverno.Filter) bool { return kyverno.Contradiction(work, filters) != nil })
		for _, filters := range all {
			// A condition may have cases that are not for this policy.
			if miss := kyverno.Contradiction(work, filters); miss != nil && (s.ByMatch || len(alternatives) == 0) {
				s.misses(miss, nil)
				if !s.ByMatch {
					return // one reason is enough for all cases
				}
			}
		}
		if s.config.Policies == nil || s.config.Policies.Incomplete || len(alternatives) == 0 {
			return
		}
		targets, known := make([][]kyverno.Target, len(s.Refs)), true
		for i, ref := range s.Refs {
			for _, p := range s.config.Policies.Reached(ref) {
				targets[i] = append(targets[i], p.Targets(work, ref.RuleNames())...)
			}
			known = known && len(targets[i]) > 0 // others are unknown-policy or unknown-rule
		}
		s.withoutTarget(work, alternatives, targets, known)
		s.uselessParts()
	},
}

// mistakes reports probable misspellings in match conditions. Some count only for kinds of Kubernetes.
func (s *subject) mistakes() {
	work := wildcard.NewMeter()
	of := kyverno.WorkloadOf(work, s.Alternatives(work))
	custom := slices.ContainsFunc(s.kinds(),
		func(k kyverno.Located) bool { return !isListed(builtinKinds, kyverno.ParseKind(k.Text).Kind) })
	for _, c := range s.conditions() {
		for _, m := range kyverno.Mistakes(c.Text, of) {
			switch {
			case c.Problem != nil: // for another check
			case m.IsWider:
				s.find(reasonWider, c.path, m.Hint, "%s", m.Message)
			case m.IsSure:
				s.find(ReasonNeverMatches, c.path, m.Hint, "%s", m.Message)
			case !custom:
				s.warn(ReasonNeverMatches, c.path, m.Hint, "%s", m.Message)
			}
		}
	}
}

// isSetByRules reports whether a rule that the exception names sets a variable, or may set it.
func (s *subject) isSetByRules(variable string) bool {
	if s.config.Policies == nil || s.config.Policies.Incomplete {
		return true
	}
	return slices.ContainsFunc(s.Refs, func(ref kyverno.Ref) bool {
		policies := s.config.Policies.Find(ref)
		return len(policies) == 0 || slices.ContainsFunc(policies, func(p *kyverno.Policy) bool {
			return slices.ContainsFunc(p.Rules,
				func(r kyverno.Rule) bool { return slices.Contains(r.Context, variable) })
		})
	})
}

// scanned reports whether background scans apply a policy that the exception names, or may do so.
func (s *subject) scanned() bool {
	if s.config.Policies == nil {
		return true
	}
	return slices.ContainsFunc(s.Refs, func(ref kyverno.Ref) bool {
		policies := s.config.Policies.Find(ref)
		return len(policies) == 0 ||
			slices.ContainsFunc(policies, func(p *kyverno.Policy) bool { return !p.RequestsOnly })
	})
}

// withoutTarget reports the alternatives that no target is about, and the policies of which no rule is about an
// alternative. known means that every policy has targets.
func (s *subject) withoutTarget(work *wildcard.Meter, alternatives [][]kyverno.Filter, all [][]kyverno.Target,
	known bool) {
	operations := s.Operations()
	alive, lacking := make([]bool, len(all)), make([]*kyverno.Miss, len(all)) // by policy
	for _, filters := range alternatives {
		var why *kyverno.Miss
		matched := false
		for i, targets := range all {
			var first *kyverno.Miss // nil if a target may be about it, or if there is none
			for j := range targets {
				miss := targets[j].Misses(work, filters, operations)
				if miss == nil {
					first = nil
					break
				}
				first = cmp.Or(first, miss)
			}
			alive[i], matched = alive[i] || first == nil, matched || first == nil && len(targets) > 0
			lacking[i], why = cmp.Or(lacking[i], first), cmp.Or(why, first)
		}
		if !matched && known && why != nil && s.ByMatch {
			var others []string // rules that Kyverno makes of the named ones, or that these are made of
			for _, ref := range s.Refs {
				for _, r := range s.config.Policies.Rules(work, ref) {
					others = append(others, r.FormsAbout(work, filters)...)
				}
			}
			s.misses(why, others)
		}
	}
	first := slices.IndexFunc(lacking, func(miss *kyverno.Miss) bool { return miss != nil })
	if !slices.Contains(alive, true) {
		if !s.ByMatch && known && first >= 0 {
			s.misses(lacking[first], nil)
		}
		return // the alternatives are reported
	}
	for i, ref := range s.Refs {
		if !alive[i] && lacking[i] != nil {
			message, _ := lacking[i].Describe()
			s.find(ReasonNeverMatches, ref.Path,
				"remove this policy from the exception, or match what its rule is about", "%s", message)
		}
	}
}

// misses reports the reason why an alternative matches nothing, with rules that it would match.
func (s *subject) misses(why *kyverno.Miss, others []string) {
	path := s.ScopePath
	message, hint := why.Describe()
	if !s.ByMatch {
		path, hint = s.whereConditions(), strings.Replace(hint, "name a rule", "name a policy", 1)
	} else if len(why.At.Path) > 0 {
		path = why.Path()
	}
	if len(others) > 0 {
		hint = "add " + kyverno.Listed(others) + " to ruleNames"
	}
	s.find(ReasonNeverMatches, path, hint, "%s", message)
}

// uselessParts reports parts of an exception that none of its policies reads.
func (s *subject) uselessParts() {
	work := wildcard.NewMeter()
	var baseline, more, images, values, unknown bool
	spared := slices.Clone(s.PodSecurity) // the controls that every rule excludes itself
	var idle []kyverno.Ref                // their policies read none of the listed parts
	for _, ref := range s.Refs {
		policies, reads := s.config.Policies.Find(ref), false
		for _, p := range policies {
			images, values = images || p.ReadsImages, values || p.ReadsValues
			reads = reads || p.ReadsImages && len(s.Images) > 0 || p.ReadsValues && len(s.AllowedValues) > 0
		}
		unknown = unknown || len(policies) == 0
		if s.OnlyValues() && !reads {
			idle = append(idle, ref)
		}
		for _, r := range s.config.Policies.Rules(work, ref) {
			if r.PodSecurity {
				spared = slices.DeleteFunc(spared, func(c kyverno.Control) bool { return !r.SparesControl(c) })
			}
			baseline, more = baseline || r.PodSecurity && r.Baseline, more || r.PodSecurity && !r.Baseline
		}
	}
	if unknown || work.Spent() {
		return
	}
	for _, control := range s.PodSecurity {
		if wrong, hint := control.Misspelt(); wrong != "" {
			s.warn(ReasonNeverMatches, control.Path.With("values"), hint, "Pods have %q, if at all, in another form",
				wrong)
		}
		if why := control.Unchecked(baseline && !more); why != "" && (baseline || more) {
			s.find(ReasonNeverMatches, control.Path, "remove the entry, or name what the rule checks", "%s", why)
		} else if (baseline || more) && slices.ContainsFunc(spared,
			func(c kyverno.Control) bool { return slices.Equal(c.Path, control.Path) }) {
			s.find(ReasonNeverMatches, control.Path, "remove the entry, or name what the rule checks",
				"the rule excludes the control %q itself", control.Name)
		}
	}
	for _, part := range []struct {
		field string
		texts []kyverno.Located
		reads bool
	}{{"images", s.Images, images}, {"allowedValues", s.AllowedValues, values}} {
		if len(part.texts) > 0 && !part.reads && s.OnlyValues() {
			s.find(ReasonNeverMatches, exception.Path{"spec", part.field},
				"remove "+part.field+" to exempt the whole resource, or change the policy",
				"no expression of the policy reads the %s of exceptions, so this exception changes nothing", part.field)
		}
	}
	for _, ref := range idle {
		if len(idle) < len(s.Refs) { // otherwise the field is reported
			s.find(ReasonNeverMatches, ref.Path, "remove this policy from the exception, or change the policy",
				"no expression of the policy %q reads the images or allowedValues of exceptions, so this exception "+
					"changes nothing for it", ref.Name.Text)
		}
	}
}

var uselessPodSecurityCheck = check{
	About: "Finds `spec.podSecurity` in an exception from rules that are not podSecurity rules. Kyverno ignores the " +
		"field there and skips the whole rule.",
	Reasons: []Reason{{Name: reasonUselessPodSecurity,
		Doc: "podSecurity restricts nothing, because no named rule is a podSecurity rule"}},
	Run: func(s *subject) {
		if s.config.Policies == nil || len(s.PodSecurity) == 0 {
			return
		}
		work := wildcard.NewMeter()
		for _, ref := range s.Refs {
			rules := s.config.Policies.Rules(work, ref)
			if len(rules) > 0 && !slices.ContainsFunc(rules, func(r kyverno.Rule) bool { return r.PodSecurity }) {
				s.find(reasonUselessPodSecurity, exception.Path{"spec", "podSecurity"},
					"remove podSecurity to exempt from the whole rules, or name a podSecurity rule",
					"none of the named rules of the policy %q is a podSecurity rule, so Kyverno skips the whole "+
						"rules and not only these controls", ref.Name.Text)
			}
		}
	},
}
